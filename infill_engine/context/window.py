"""The text around the cursor that a request carries, cut at places that do not move while the user types.

The engine keeps keys and values of the prefix from its start and of the suffix from its far end. So the prefix starts
at an anchor that typing rarely moves, and the suffix ends at an anchor that only text after the cursor can move. Both
anchors are counted from the ends of the document, which typing at the cursor does not shift: the prefix in lines from
the top, the suffix in lines from the bottom.
"""

from collections.abc import Callable, Sequence

from infill_engine.errors import InputError
from infill_engine.settings import WindowSettings

LINE_STEPS = (
    16,
    4,
    1,
)  # coarse anchors move rarely; a finer one is used if a coarse one would cost half the window
COLUMN_STEPS = (256, 64, 16, 4, 1)
WIDER_CONTEXT_CHARS = 20_000  # on either side of the windows, for n-grams and snippets


def window_at(lines: Sequence[str], row: int, column: int, settings: WindowSettings) -> tuple[str, str]:
    """Return prefix and suffix around the cursor, at most `prefix_chars` and `suffix_chars` characters long.

    `lines` are the document's, each with its line end; `row` counts from 0, `column` in characters. A column past the
    end of the line means its end; the row after the last line is empty. Raises InputError for any other row. The cost
    depends only on the size of the window.
    """
    if not 0 <= row <= len(lines) or column < 0:
        raise InputError(
            f"Line {row + 1}, column {column + 1} does not exist: the document has {max(len(lines), 1)} lines. "
            "Give a position inside it."
        )
    line = lines[row] if row < len(lines) else ""
    column = min(column, _content(line))
    return _prefix(lines, row, line, column, settings.prefix_chars), _suffix(
        lines, row, line, column, settings.suffix_chars
    )


def _prefix(lines: Sequence[str], row: int, line: str, column: int, budget: int) -> str:
    cut = _cut(column, budget)
    if cut < column:
        return line[column - cut : column]
    count, cut = _reach(column, row, lambda distance: len(lines[row - distance]), row, budget)
    head = lines[row - count - 1][-cut:] if cut else ""
    return (head if head != "\n" else "") + "".join(lines[row - count : row]) + line[:column]


def _suffix(lines: Sequence[str], row: int, line: str, column: int, budget: int) -> str:
    rest = len(line) - column
    below = max(len(lines) - row - 1, 0)
    cut = _cut(rest, budget)
    if cut < rest:
        return _whole_line_end(line[column : column + cut])
    count, cut = _reach(rest, below, lambda distance: len(lines[row + distance]), below, budget)
    tail = _whole_line_end(lines[row + count + 1][:cut]) if cut else ""
    return line[column:] + "".join(lines[row + 1 : row + count + 1]) + tail


def _reach(own: int, available: int, length: Callable[[int], int], origin: int, budget: int) -> tuple[int, int]:
    """Return how many whole lines away from the cursor to take, and how many characters of the next line.

    `own` characters of the cursor's line are already taken, `length(d)` is the length of the line `d` away, and that
    line has the number `origin - d` counted from the far end of the document.
    """
    sums = [own]
    while len(sums) <= available and sums[-1] + (size := length(len(sums))) <= budget:
        sums.append(sums[-1] + size)
    fitting = len(sums) - 1
    if fitting == available:
        return fitting, 0
    for step in LINE_STEPS:
        count = fitting - (-(origin - fitting)) % step
        if count >= 0 and sums[count] * 2 >= budget:
            return count, 0
    # The lines that fit do not fill half the window, because the next line is very long. It is cut.
    return fitting, _cut(length(fitting + 1), budget - sums[fitting])


def _cut(length: int, budget: int) -> int:
    """Return how many characters of a line to take next to the cursor when `budget` are allowed.

    The far edge of the taken part is at a multiple of a step, counted from the line's far end.
    """
    if length <= budget:
        return length
    far_edge = length - budget
    for step in COLUMN_STEPS:
        taken = length - (far_edge + (-far_edge) % step)
        if taken * 2 >= budget:
            return max(taken, 0)
    return budget


def _content(line: str) -> int:
    """Return the length of `line` without its line end."""
    if line.endswith("\r\n"):
        return len(line) - 2
    return len(line) - line.endswith(("\n", "\r"))


def _whole_line_end(text: str) -> str:
    """Return `text`, which was cut at an arbitrary place, without the first half of a CRLF."""
    return text[:-1] if text.endswith("\r") else text
