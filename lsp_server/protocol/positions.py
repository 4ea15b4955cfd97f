"""Converts between the protocol's values and ours. All UTF-8, UTF-16 and UTF-32 arithmetic is here.

Inside the server a place is (row, column): a row of `Snapshot.lines` and a column in characters (code points).
Positions from a client are clamped to the text: past the last row means the end of the text, past a line's end means
before its terminator, inside a character means before it.
"""

import re
from collections.abc import Sequence

from lsprotocol import types

Place = tuple[int, int]  # row, column in characters

_SURROGATE = re.compile("[\ud800-\udfff]")


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate, which UTF-8 cannot encode, by U+FFFD.

    The replacement has the same length in every encoding: one UTF-16 unit, three UTF-8 bytes.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def utf8_length(text: str) -> int:
    """Return the length of `text` in UTF-8 bytes. `text` must not contain lone surrogates."""
    return len(text) if text.isascii() else len(text.encode())


def line_content(line: str) -> str:
    """Return a line without its terminator."""
    if line.endswith("\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(("\n", "\r")) else line


def units_to_column(line: str, units: int, encoding: str) -> int:
    """Return the number of characters in the first `units` code units of `line`, clamped to the line's content."""
    if units <= 0:
        return 0
    content = line_content(line)
    if encoding == "utf-32" or content.isascii():
        return min(units, len(content))
    if encoding == "utf-8":
        return len(content.encode()[:units].decode("utf-8", "ignore"))
    return len(content.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))


def column_to_units(line: str, column: int, encoding: str) -> int:
    """Return the number of code units of `encoding` in the first `column` characters of `line`."""
    left = line[:column]
    if encoding == "utf-32" or left.isascii():
        return len(left)
    return len(left.encode()) if encoding == "utf-8" else len(left.encode("utf-16-le")) // 2


def to_place(lines: Sequence[str], position: types.Position, encoding: str) -> Place:
    """Convert a client's position to a place in `lines`."""
    if position.line >= len(lines):
        return len(lines) - 1, len(line_content(lines[-1]))
    row = max(0, position.line)
    return row, units_to_column(lines[row], position.character if position.line >= 0 else 0, encoding)


def to_position(lines: Sequence[str], place: Place, encoding: str) -> types.Position:
    """Convert a place in `lines` to the client's position."""
    row, column = place
    return types.Position(row, column_to_units(lines[row], column, encoding))


def to_span(lines: Sequence[str], start: Place, end: Place, encoding: str) -> types.Range:
    """Convert two places in `lines` to the client's range."""
    return types.Range(to_position(lines, start, encoding), to_position(lines, end, encoding))
