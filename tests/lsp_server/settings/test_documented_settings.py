"""The settings' names and defaults in docs/settings.md and in Neovim's help are the server's."""

import json
import re
from pathlib import Path

from lsp_server.settings.schema import SETTINGS

REPOSITORY = Path(__file__).parents[3]
HELP = (REPOSITORY / "editors/nvim/doc/infill.txt").read_text(encoding="utf-8")
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PAGE = (REPOSITORY / "docs/settings.md").read_text(encoding="utf-8")
WITHOUT_ONE = {"languages", "showThreshold"}  # whose defaults the help tells in words
FOR_OTHERS = {"completionFallback"}  # than Neovim, which knows ghost text


def in_the_help() -> dict[str, str]:
    """What stands in parentheses at the end of each setting's description."""
    (section,) = re.findall(r"\*infill-settings\*\n\n.*?\n\n(.*?)\n=====", HELP, re.DOTALL)
    told = re.findall(r"^(\w+)\t(.*(?:\n\t.*)*)", section, re.MULTILINE)
    found = {key: re.search(r"\(([^()]*)\)\Z", words.strip()) for key, words in told}
    return {key: at_the_end[1] if at_the_end else "" for key, at_the_end in found.items()}


def on_the_page() -> dict[str, str]:
    """The table's last column."""
    (table,) = re.findall(r"^\| setting \| meaning \| default \|\n\|[-|]*\n(.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)
    return dict(re.findall(r"^\| `(\w+)` \|.*\| `(.*)` \|$", table, re.MULTILINE))


def test_the_extension_is_installed_from_where_it_is_built() -> None:
    built = re.search(r'--out "\$out/([\w.-]+)"', (REPOSITORY / "scripts/build").read_text(encoding="utf-8"))
    assert built
    assert re.findall(r"--install-extension dist/(\S+)", README) == [built[1]]


def test_the_help() -> None:
    told = in_the_help()
    assert told.keys() == SETTINGS.keys() - FOR_OTHERS
    for key in told.keys() - WITHOUT_ONE:
        assert json.loads(told[key].replace("{}", "[]")) == SETTINGS[key].default, key


def test_the_page() -> None:
    told = on_the_page()
    assert told.keys() == SETTINGS.keys()
    for key, value in told.items():
        default = SETTINGS[key].default
        assert (value if isinstance(default, str) else json.loads(value)) == default, key
