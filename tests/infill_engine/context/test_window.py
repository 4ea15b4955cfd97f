"""The window around the cursor: what it holds, and that typing leaves its far ends where they are."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infill_engine.context.window import window_at
from infill_engine.errors import InputError
from infill_engine.settings import WindowSettings

SMALL = WindowSettings(prefix_chars=40, suffix_chars=20)

LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")
ends = st.sampled_from(["\n", "\r\n", "\r"])
bodies = st.text(st.sampled_from("ab (\t\x0c\u2028\U0001f600é"), max_size=60)
# Written out and read again: a line that ends in CR and an empty one that ends in LF are one line that ends in CRLF.
documents = st.lists(st.tuples(bodies, ends).map("".join), min_size=1, max_size=60).map("".join).map(LINE.findall)
budgets = st.builds(WindowSettings, st.integers(0, 200), st.integers(0, 200))


def content(line: str) -> int:
    return len(line.rstrip("\r\n"))


@given(documents, st.data(), budgets)
def test_the_window_is_what_stands_around_the_cursor(
    lines: list[str], data: st.DataObject, size: WindowSettings
) -> None:
    row = data.draw(st.integers(0, len(lines) - 1))
    column = data.draw(st.integers(0, content(lines[row])))
    prefix, suffix = window_at(lines, row, column, size)
    before = "".join(lines[:row]) + lines[row][:column]
    after = lines[row][column:] + "".join(lines[row + 1 :])
    assert before.endswith(prefix)
    assert after.startswith(suffix)
    assert len(prefix) <= size.prefix_chars
    assert len(suffix) <= size.suffix_chars
    if len(before) <= size.prefix_chars:
        assert prefix == before
    if len(after) <= size.suffix_chars:
        assert suffix == after
    # No end of the window parts a CRLF; and it is at least half full, but for that one character.
    assert not (prefix.startswith("\n") and before[: len(before) - len(prefix)].endswith("\r"))
    assert not (suffix.endswith("\r") and after[len(suffix) :].startswith("\n"))
    assert len(prefix) * 2 + 2 >= min(len(before), size.prefix_chars)
    assert len(suffix) * 2 + 2 >= min(len(after), size.suffix_chars)


@given(documents, documents, st.data(), budgets)
def test_text_before_the_cursor_never_moves_the_suffix(
    lines: list[str], other: list[str], data: st.DataObject, size: WindowSettings
) -> None:
    row = data.draw(st.integers(0, len(lines) - 1))
    column = data.draw(st.integers(0, content(lines[row])))
    typed = data.draw(bodies)
    edited = [*other, typed + lines[row][column:], *lines[row + 1 :]]
    assert window_at(lines, row, column, size)[1] == window_at(edited, len(other), len(typed), size)[1]


def starts(lines: Sequence[str], row: int, typed: str, size: WindowSettings) -> list[int]:
    """Where the prefix starts in the document after each typed character."""
    found = []
    for count in range(len(typed) + 1):
        edited = [*lines[:row], typed[:count] + lines[row], *lines[row + 1 :]]
        prefix, _ = window_at(edited, row, count, size)
        found.append(sum(map(len, edited[:row])) + count - len(prefix))
    return found


def jumps(found: list[int]) -> int:
    return sum(before != after for before, after in pairwise(found))


@pytest.mark.parametrize("row", [0, 1, 7, 30, 63, 64, 100, 163, 499])
@pytest.mark.parametrize("width", [1, 20, 35, 80, 2000])
def test_typing_a_line_moves_the_start_rarely(row: int, width: int) -> None:
    lines = ["x" * width + "\n"] * 500
    assert jumps(starts(lines, row, "y" * 120, WindowSettings())) <= 2


def test_typing_a_very_long_line_moves_the_start_rarely() -> None:
    lines = ["x\n"] * 20
    assert jumps(starts(lines, 10, "y" * 6000, WindowSettings())) <= 6000 / 256 + 8


def test_typing_many_lines_moves_the_start_once_every_few_lines() -> None:
    found = []
    lines = ["x = some(ordinary, line)\n"] * 40
    for _ in range(200):
        lines.append("y = some(other, ordinary, line)\n")
        prefix, _ = window_at([*lines, ""], len(lines), 0, WindowSettings())
        found.append(sum(map(len, lines)) - len(prefix))
    assert jumps(found) <= 200 / 4 + 2


def check(marked: str, expected: tuple[str, str], size: WindowSettings = SMALL) -> None:
    before, _, after = marked.partition("|")
    head, tail = before.splitlines(keepends=True), after.splitlines(keepends=True)
    row = max(len(head) - (not before.endswith("\n")), 0)
    column = 0 if before.endswith("\n") or not before else len(head[-1])
    lines = (before + after).splitlines(keepends=True)
    assert window_at(lines, row, column, size) == expected
    assert tail or not after


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("|", ("", "")),
        ("ab|cd", ("ab", "cd")),
        ("ab\n|", ("ab\n", "")),
        ("ab\r\n|\r\ncd", ("ab\r\n", "\r\ncd")),
        ("x" * 1000 + "|" + "y" * 1000, ("x" * (1000 - 960), "y" * (1000 - 980))),
        ("x" * 30 + "\n" + "y" * 30 + "|\n" + "z" * 30, ("y" * 30, "\n" + "z" * (30 - 16))),
    ],
)
def test_small_documents(marked: str, expected: tuple[str, str]) -> None:
    check(marked, expected)


class Counted(Sequence[str]):
    """Lines that count how often one of them is looked at."""

    def __init__(self, lines: list[str]) -> None:
        self.lines, self.looks = lines, 0

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        found = self.lines[index]
        self.looks += len(found) if isinstance(index, slice) else 1
        return found


def test_the_cost_does_not_grow_with_the_document() -> None:
    looks = []
    for size in (1000, 100_000):
        lines = Counted(["x = some(ordinary, line)\n"] * size)
        window_at(lines, size // 2, 3, WindowSettings())
        looks.append(lines.looks)
    assert looks[1] < looks[0] + 64


@pytest.mark.parametrize(("row", "column"), [(-1, 0), (3, 0), (0, -1)])
def test_a_position_outside_the_document_is_refused(row: int, column: int) -> None:
    with pytest.raises(InputError, match="does not exist"):
        window_at(["a\n", "b\n"], row, column, SMALL)


def test_a_column_past_the_line_means_its_end() -> None:
    assert window_at(["ab\r\n", "c"], 0, 99, SMALL) == ("ab", "\r\nc")
    assert window_at(["ab\n"], 1, 5, SMALL) == ("ab\n", "")
