"""docs/languages.md says of every language what its record says, and the editors' pages name them all."""

import json
import re
from pathlib import Path

from infill_engine.text.languages import Support, all_entries, language

REPOSITORY = Path(__file__).parents[1]
ROW = re.compile(r"^\| (.+?) \| `(\w+)` \| (.+?) \| (full|by line and value) \|$", re.MULTILINE)
SUPPORT = {"full": Support.FIRST, "by line and value": Support.SECOND}
VIM_HAS_NO_FILETYPE = {"javascriptreact", "jsonc"}


def test_the_table_of_languages() -> None:
    documented = ROW.findall((REPOSITORY / "docs" / "languages.md").read_text())
    found = {
        (name, identifier, tuple(re.findall(r"`(.+?)`", files)), SUPPORT[support])
        for name, identifier, files, support in documented
    }
    assert found == {
        (entry.name, entry.id, (*entry.identity.suffixes, *entry.identity.file_names), entry.support)
        for entry in all_entries()
        if entry.support is not Support.TEXT
    }


def test_the_filetypes_in_the_readme_are_known() -> None:
    listed = re.search(r"filetypes = \{(.*?)\}", (REPOSITORY / "README.md").read_text(), re.DOTALL)
    assert listed is not None
    named = {language(each).id for each in re.findall(r"'(\w+)'", listed[1])}
    assert named >= {entry.id for entry in all_entries() if entry.support is Support.FIRST}


def test_the_filetypes_for_vim_are_known() -> None:
    page = (REPOSITORY / "editors" / "others.md").read_text()
    listed = re.search(r"filetype: \[(.*?)\]", page, re.DOTALL)
    assert listed is not None
    named = {language(each).id for each in re.findall(r"'(\w+)'", listed[1])}
    supported = {entry.id for entry in all_entries() if entry.support is not Support.TEXT}
    assert supported - named <= VIM_HAS_NO_FILETYPE
    assert named <= supported


def test_the_editors_start_the_server_for_every_language() -> None:
    manifest = json.loads((REPOSITORY / "editors" / "vscode" / "package.json").read_text())
    assert manifest["activationEvents"] == ["onStartupFinished"]  # not by language, so none can be missing
    selector = (REPOSITORY / "editors" / "vscode" / "src" / "documents.ts").read_text()
    assert "SELECTOR" in selector
    assert "language:" not in selector
    neovim = (REPOSITORY / "editors" / "nvim" / "lua" / "infill" / "config.lua").read_text()
    assert re.search(r"^\s*filetypes = ", neovim, re.MULTILINE) is None  # nil: every file type
