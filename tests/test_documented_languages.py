"""docs/languages.md says of every language what its record says, and the editors' pages name them all."""

import re
from pathlib import Path

from infill_engine.text.languages import Support, all_entries, language

REPOSITORY = Path(__file__).parents[1]
ROW = re.compile(r"^\| (.+?) \| `(\w+)` \| (.+?) \| (full|by line and value) \|$", re.MULTILINE)
SUPPORT = {"full": Support.FIRST, "by line and value": Support.SECOND}


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
