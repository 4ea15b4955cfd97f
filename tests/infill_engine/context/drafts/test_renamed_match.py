"""Lines carried over from their like elsewhere, for the hole at the cursor `|`."""

import pytest

from infill_engine.context.drafts.continuation import around_hole
from infill_engine.context.drafts.renamed_match import find_analogies
from infill_engine.types import Hole, HoleKind

LINE = Hole(HoleKind.LINE)
STATEMENT = Hole(HoleKind.STATEMENT, indent="    ")


def found(marked: str, hole: Hole = LINE, *others: str) -> list[str]:
    prefix, _, suffix = marked.partition("|")
    around = around_hole(prefix, suffix)
    return [draft.text for draft in find_analogies(around, (prefix, suffix, *others), hole, limit=4)]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("self.width = width\nself.height = |\n", ["height"]),
        ("self.width = width\nself.height = hei|\n", ["ght"]),
        ("self.width = width\r\n\r\nself.height = |\r\n", ["height"]),
        ("self.width = width\rself.height = |\r", ["height"]),
        ("self.height = |\nself.width = width\n", ["height"]),
        # Parts of names, other ways of writing them, strings.
        ("set_width(self._width)\nset_height(|\n", ["self._height)"]),
        ("width = WIDTH\nheight = |\n", ["HEIGHT"]),
        ("box_width = read(BoxWidth)\nbox_height = |\n", ["read(BoxHeight)"]),
        ('width = data["width"]\nheight = |\n', ['data["height"]']),
        ("width = new_width_of(x)\nheight = |\n", ["new_height_of(x)"]),
        # One name there cannot be two names here, and keywords and punctuation are what they are.
        ("add(a, a, c)\nadd(b, d, |\n", []),
        ("if width: go(width)\nwhile height: |\n", []),
        ("del width, width\ndel height.|\n", []),
        # The more of the lines above are alike, the better.
        ("one(x)\ny = 1\n\nthree()\ny = 2\n\none(z)\ny = |\n", ["1", "2"]),
        ("|", []),
        ("\n\n|\n", []),
        ("x|", []),
        ("= |\n", []),
    ],
)
def test_the_rest_of_a_line(marked: str, expected: list[str]) -> None:
    assert found(marked) == expected


def test_a_statement_after_lines_that_are_alike() -> None:
    marked = "    if width is None:\n        raise NoWidth\n    if height is None:\n        |\n"
    assert found(marked, STATEMENT)[0] == "raise NoHeight"


def test_an_empty_line_gets_the_indentation_that_it_needs() -> None:
    marked = "  if width is None:\n      raise NoWidth\n\n    if height is None:\n|\n"
    assert found(marked, Hole(HoleKind.STATEMENT))[0] == "        raise NoHeight"
    assert found(marked.replace("    if", "if"), Hole(HoleKind.STATEMENT))[0] == "    raise NoHeight"


def test_blanks_at_the_beginning_are_no_renaming() -> None:
    # Neither continuation has other names than its source, so the nearer one comes first.
    assert found("call(a,  c)\ncall(a,b)\ncall(a,|\n") == ["b)", "  c)"]


def test_a_hole_with_code_to_its_right() -> None:
    argument = Hole(HoleKind.EXPRESSION, closers=")")
    assert found("x = grow(width, 1)\ny = grow(|, 1)\n", argument) == ["width"]
    assert found("width = grow(width, 1)\nheight = grow(|, 1)\n", argument) == ["height"]


def test_a_block_keeps_its_indentation() -> None:
    block = Hole(HoleKind.BLOCK, max_lines=4, indent="        ")
    above = "def width(self):\n    if self._width:\n        return self._width\n"
    marked = above + "class A:\n    def height(self):\n        |\n"
    assert found(marked, block)[0] == "if self._height:\n            return self._height"


def test_other_files_are_searched() -> None:
    assert found("self.height = |", LINE, "", "self.width = check(width)\n") == ["check(height)"]


def test_the_nearer_place_counts_more() -> None:
    assert found("a = far(a)\nb = near(b)\nc = |\n") == ["near(c)", "far(c)"]


def test_long_lines_are_no_burden() -> None:
    assert found("x" * 100_000 + " = |\n") == []
    assert found("a = f(a)\nb = |\n", LINE, "", "c = g(c, " + "1, " * 100_000 + ")\n")[0] == "f(b)"
