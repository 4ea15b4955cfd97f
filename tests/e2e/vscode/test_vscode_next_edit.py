"""Next edits in a real VS Code: shown, applied, undone, dismissed. Texts are read from the file on the disk."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from driver.recording import Recording
from driver.workbench import Workbench

COUNT = "[id='infill-ls.infill.infill.nextEdits']"
DIFF = ".monaco-diff-editor"
RENAME = "def f(│size, b):\n    return size + b\n\n\nf(size=1, b=2)\n"
RENAMED = "def f(width, b):\n    return width + b\n\n\nf(width=1, b=2)\n"


@pytest.fixture
def code(code: Workbench) -> Iterator[Workbench]:
    """No document stays open."""
    yield code
    code.close()


def count(code: Workbench) -> str:
    """What the status bar says of the next edit, "" for none."""
    return "".join(code.texts(COUNT)).strip()


def wait_for_count(code: Workbench, number: int) -> None:
    code.until(lambda: count(code) == (str(number) if number else ""), f"{number} places", lambda: count(code))


def rename(code: Workbench, name: str) -> Path:
    """Type another name over the parameter of RENAME, whose two uses are to follow."""
    path = code.open(name, RENAME)
    code.press("Control+Shift+ArrowRight")
    code.type_text("width")
    wait_for_count(code, 2)
    return path


def take(code: Workbench, path: Path) -> str:
    """Go to what is proposed and take it; the text then."""
    code.press("Tab", "Tab")
    wait_for_count(code, 0)
    return code.saved(path).decode()


def test_a_name_typed_anew_is_followed_and_undone_at_once(code: Workbench) -> None:
    path = code.open("renamed.py", RENAME)
    recording = Recording(code, "next-edit")
    recording.show(1.2)
    code.press("Control+Shift+ArrowRight")
    code.type_text("width")
    wait_for_count(code, 2)
    recording.show(2.0)
    assert "rename 2 more uses" in code.preview().replace("\u00a0", " ")
    code.press("Tab")
    code.until(lambda: code.cursor().startswith("Ln 2"), "the cursor in line 2", code.cursor)
    recording.show(1.5)
    code.press("Tab")
    wait_for_count(code, 0)
    recording.show(2.5)
    recording.save()
    assert code.saved(path).decode() == RENAMED
    code.press("Control+z")
    assert code.saved(path).decode() == RENAMED.replace("return width", "return size").replace("(width=", "(size=")


COLOURS = "class Colour(Enum):\n    RED = 1\n    GREEN = 2\n{}\n\ndef name(c):\n    match c:\n"
COLOURS += "        case Colour.RED:\n            return 1\n        case Colour.GREEN:\n            return 2\n"
CONSEQUENCES = {
    # a text, what is typed, how many places follow, and the text when they are taken
    "passed": (
        *("def f(a│):\n    return a\n\n\ndef g(b):\n    return f(1) + f(2)\n", ", b", 2),
        "def f(a, b):\n    return a\n\n\ndef g(b):\n    return f(1, b) + f(2, b)\n",
    ),
    "taken": (
        *("def f(a):\n    return a│\n\n\nx = f(1)\ny = f(2)\n", ", size", 2),
        "def f(a):\n    return a, size\n\n\nx, size = f(1)\ny, size = f(2)\n",
    ),
    "variants": (
        *(COLOURS.format("│"), "    BLUE = 3", 1),
        COLOURS.format("    BLUE = 3") + "        case Colour.BLUE:\n            return 2\n",
    ),
}


@pytest.mark.parametrize("name", CONSEQUENCES)
def test_a_consequence_is_applied_everywhere_and_undone_at_once(code: Workbench, name: str) -> None:
    marked, typed, places, expected = CONSEQUENCES[name]
    path = code.open(f"{name}.py", marked)
    code.type_text(typed)
    wait_for_count(code, places)
    assert take(code, path) == expected
    code.press("Control+z")
    assert code.saved(path).decode() == marked.replace("│", typed)


def test_an_imported_name_replaced_twice_is_replaced_and_not_renamed(code: Workbench) -> None:
    lines = "first = {}(a)\nsecond = {}(b)\nthird = {}(c)\n"
    path = code.open("replaced.py", "from json import loads\n\n" + lines.format("│loads", "loads", "loads"))
    code.press("Control+Shift+ArrowRight")
    code.type_text("parse")
    code.press("ArrowDown", "Home", "Control+ArrowRight", "Control+ArrowRight")
    code.press("ArrowRight", "Control+Shift+ArrowRight")
    code.type_text("parse")
    code.until(lambda: "replace 1 more use" in code.preview().replace("\u00a0", " "), "a replacement", code.preview)
    assert take(code, path) == "from json import loads\n\n" + lines.format("parse", "parse", "parse")
    code.press("Control+z")
    assert code.saved(path).decode() == "from json import loads\n\n" + lines.format("parse", "parse", "loads")


def test_what_was_replaced_in_one_file_is_offered_in_the_next(code: Workbench) -> None:
    code.open("one.py", "│requests.get(path)\nrequests.get(place)\n")
    for _ in range(2):
        code.press("Control+Shift+ArrowRight")
        code.type_text("client")
        code.press("Home", "ArrowDown")
    path = code.open("two.py", "│import client\n\nrequests.get(url)\n")
    wait_for_count(code, 1)
    assert take(code, path) == "import client\n\nclient.get(url)\n"


def test_an_edit_without_consequence_stays_silent(code: Workbench) -> None:
    path = code.open("silent.py", "def f(a):\n    return a  # one│\n\n\nf(1)\n")
    code.type_text(" two")
    code.steady()
    assert count(code) == ""
    code.press("Tab")
    assert b"# one two" in code.saved(path)


def test_an_edit_while_a_proposal_is_shown_moves_it(code: Workbench) -> None:
    path = rename(code, "moved.py")
    code.press("Control+Home")
    code.type_text("import os\n\n\n")
    wait_for_count(code, 0)
    wait_for_count(code, 2)
    assert take(code, path) == "import os\n\n\n" + RENAMED


def test_escape_dismisses_for_good(code: Workbench) -> None:
    rename(code, "dismissed.py")
    code.press("Escape")
    wait_for_count(code, 0)
    code.press("Control+End")
    code.type_text("# more")
    code.steady()
    assert count(code) == ""


def test_the_list_shows_a_diff_and_applies_what_is_taken(code: Workbench) -> None:
    path = rename(code, "listed.py")
    code.command("Infill: Pick Next Edit")
    code.until(lambda: bool(code.texts(DIFF)), "a diff", lambda: code.texts(".tab"))
    code.press("Enter")
    code.until(lambda: not code.texts(DIFF), "no diff", lambda: code.texts(".tab"))
    wait_for_count(code, 0)
    assert code.saved(path).decode() == RENAMED


def test_tab_indents_in_a_blank_line(code: Workbench) -> None:
    path = rename(code, "indented.py")
    code.press("ArrowDown", "ArrowDown")
    code.until(lambda: code.cursor().startswith("Ln 3"), "the cursor in line 3", code.cursor)
    code.press("Tab")
    code.until(lambda: "Col 5" in code.cursor(), "an indented line", code.cursor)  # by the extension's process
    assert code.saved(path).decode() == RENAME.replace("│size", "width").replace("b\n\n\n", "b\n    \n\n")
