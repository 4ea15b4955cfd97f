"""Continuations copied from elsewhere, for the hole at the cursor `|`."""

import pytest

from infill_engine.context.drafts.continuation import LINE_CHARS, around_hole
from infill_engine.context.drafts.exact_match import SEARCHED_CHARS, find_copies
from infill_engine.types import Draft, Hole, HoleKind

LINE = Hole(HoleKind.LINE)


def found(marked: str, hole: Hole, *others: str) -> list[Draft]:
    prefix, _, suffix = marked.partition("|")
    return find_copies(around_hole(prefix, suffix), (prefix, suffix, *others), hole, limit=4)


def check(marked: str, expected: list[str], hole: Hole = LINE, others: tuple[str, ...] = ()) -> None:
    assert [draft.text for draft in found(marked, hole, *others)] == expected


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("a.first(b, c)\na.first(|\n", ["b, c)"]),
        ("    a.first(b, c)\n\na.first(|\n", ["b, c)"]),
        ("a.first(b, c)\r\na.first(|\r\n", ["b, c)"]),
        ("a.first(b, c)\ra.first(|\r", ["b, c)"]),
        ("a.first(|\na.first(b, c)\n", ["b, c)"]),
        ("a.first(\U0001f600)\x0c\u2028 \na.first(|", ["\U0001f600)"]),
        # Different continuations: the more frequent one first, then the nearer.
        ("a.first(b)\na.first(c)\na.first(|\n", ["c)", "b)"]),
        ("a.first(b)\na.first(b)\na.first(c)\na.first(|\n", ["b)", "c)"]),
        # A longer match beats frequency; the line above counts too.
        ("one = a.first(b)\nx = a.first(c)\nx = a.first(c)\none = a.first(|\n", ["b)", "c)"]),
        ("one\n\n    a.first(b)\ntwo\na.first(c)\ntwo\na.first(c)\none\na.first(|\n", ["b)", "c)"]),
        # The next line agrees.
        ("a.first(b)\nnext(1)\na.first(c)\nelse\na.first(|\nnext(1)\n", ["b)", "c)"]),
        # Nothing agrees, or too little.
        ("a.first(b)\nc.second(|\n", []),
        ("ab c\nab |\n", []),
        ("|", []),
        ("a.first(|", []),
        ("a.first(b)\n", []),
    ],
)
def test_the_rest_of_a_line(marked: str, expected: list[str]) -> None:
    check(marked, expected)


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("call(one, two)\ncall(|)\n", ["one, two"]),
        ("call(one, two)\ncall(|, two)\n", ["one"]),
        ("call(one(1, 2), two)\ncall(|, three)\n", ["one(1, 2)"]),
        ("if value.ready():\nif value.|:\n", ["ready()"]),
        ("call(one)\ncall(| + 1)\n", []),
        ("call()\ncall(|)\n", []),
    ],
)
def test_between_texts_on_one_line(marked: str, expected: list[str]) -> None:
    check(marked, expected, Hole(HoleKind.EXPRESSION))


def test_inside_a_string_it_stops_at_the_quote() -> None:
    check("call('some words', 1)\ncall('some |', 2)\n", ["words"], Hole(HoleKind.LINE, closers="')"))


@pytest.mark.parametrize(
    ("marked", "hole", "expected"),
    [
        ("    header = 1\n    body = 2\n\n  header = 1\n  |\n", Hole(HoleKind.STATEMENT, 1, "  "), ["body = 2"]),
        (
            "def first(self):\n    if a:\n        b()\n    c()\n\nx = 1\ndef first(self):\n\t|\n",
            Hole(HoleKind.BLOCK, 6, "\t"),
            ["if a:\n\t    b()\n\tc()"],
        ),
        (
            "def first(self):\n    a()\n    b()\n    c()\ndef first(self):\n    |\n",
            Hole(HoleKind.BLOCK, 2, "    "),
            ["a()\n    b()"],
        ),
    ],
)
def test_whole_lines(marked: str, hole: Hole, expected: list[str]) -> None:
    check(marked, expected, hole)


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("if a:\n\tgo(1)\nwhile b:\n\tif a:\n|\n", "\t\tgo(1)"),  # deeper than the line above
        ("    call(1)\n    go(1)\nif b:\n  call(1)\n\n|\n", "  go(1)"),  # as deep
        ("  if a:\n      call(1)\n  go(1)\nif a:\n    call(1)\n|\n", "go(1)"),  # less deep
        ("    call(1)\ngo(1)\n  call(1)\n|\n", "go(1)"),  # there is no depth to lose
        ("if a:\n    go(1)\nif a:\n    |\n", "go(1)"),  # the indentation is there
    ],
)
def test_an_empty_line_gets_the_indentation_that_it_needs(marked: str, expected: str) -> None:
    indent = "    " if marked.endswith("    |\n") else ""
    assert found(marked, Hole(HoleKind.STATEMENT, 1, indent))[0].text == expected


def test_every_line_of_a_block_gets_the_indentation_that_the_empty_line_needs() -> None:
    marked = "def f(self):\n    if a:\n        b()\n    c()\n\nx = 1\nclass A:\n    def f(self):\n|\n"
    assert found(marked, Hole(HoleKind.BLOCK, 6))[0].text == "        if a:\n            b()\n        c()"


def test_other_files_come_after_this_one() -> None:
    check("call.here(1)\ncall.|\n", ["here(1)", "there(2)"], others=("call.there(2)\n",))


def test_matched_counts_characters_left_of_the_hole() -> None:
    (draft,) = found("one two\n  a.first(b)\none two\n    a.first(|\n", LINE)
    assert draft == Draft("b)", len("a.first(") + len("one two"))


def test_drafts_differ_in_more_than_blanks_and_are_at_most_the_limit() -> None:
    check("call.f(a,  b)\ncall.f(a, b)\ncall.|\n", ["f(a, b)"])
    many = "".join(f"call.f{number}()\n" for number in range(20))
    assert len(found(many + "call.|\n", LINE)) == 4


def test_large_and_odd_sources() -> None:
    huge = "y" * SEARCHED_CHARS + "\ncall.far(1)\n" + "z = 1\n" * (SEARCHED_CHARS // 5)
    assert found("call.|\n", LINE, huge) == []  # beyond what is searched
    assert found("call.|\n", LINE, "call.near(1)\n" + huge)[0].text == "near(1)"
    assert found("call.|\n", LINE, "", "call.", "\r\r\n") == []


@pytest.mark.parametrize(("right", "hole"), [("", LINE), (", last)", Hole(HoleKind.EXPRESSION, 1))])
def test_a_line_that_goes_on_and_on_is_no_draft(right: str, hole: Hole) -> None:
    for characters, expected in ((LINE_CHARS, 1), (LINE_CHARS + 1, 0), (60_000, 0)):
        rest = "x" * (characters - len(right)) + right
        drafts = found(f"call.{rest}\ncall.|{right}\n", hole)
        assert [len(draft.text) for draft in drafts] == [characters - len(right)] * expected
