"""Between the protocol's values and ours. The only place with UTF-8, UTF-16 and UTF-32 arithmetic.

Inside the server a place is (row, column): a row of `Snapshot.lines` and a column in characters (code points).
Positions from a client are clamped into the text: past the last row means the end of the text, past a line's end means
before its terminator, inside of a character means before it.
"""

import re
from collections.abc import Sequence

from lsprotocol import types

from infill_engine.types import Candidate
from lsp_server.protocol.messages import accepted_command

Place = tuple[int, int]  # row, column in characters

_SURROGATE = re.compile("[\ud800-\udfff]")


def mend_surrogates(text: str) -> str:
    """`text` with each lone half of a surrogate pair, which no UTF-8 can hold, replaced by U+FFFD.

    The replacement is as long as the half was in every encoding: one UTF-16 unit, three UTF-8 bytes.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def utf8_length(text: str) -> int:
    """Bytes of `text` in UTF-8. `text` holds no lone surrogates."""
    return len(text) if text.isascii() else len(text.encode())


def line_content(line: str) -> str:
    """A line without its terminator."""
    if line.endswith("\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(("\n", "\r")) else line


def units_to_column(line: str, units: int, encoding: str) -> int:
    """Characters of `line` left of `units` code units of `encoding`; clamped to the line's content."""
    if units <= 0:
        return 0
    content = line_content(line)
    if encoding == "utf-32" or content.isascii():
        return min(units, len(content))
    if encoding == "utf-8":
        return len(content.encode()[:units].decode("utf-8", "ignore"))
    return len(content.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore"))


def column_to_units(line: str, column: int, encoding: str) -> int:
    """Code units of `encoding` that the first `column` characters of `line` take."""
    left = line[:column]
    if encoding == "utf-32" or left.isascii():
        return len(left)
    return len(left.encode()) if encoding == "utf-8" else len(left.encode("utf-16-le")) // 2


def to_place(lines: Sequence[str], position: types.Position, encoding: str) -> Place:
    """The place in `lines` that a client's position means."""
    if position.line >= len(lines):
        return len(lines) - 1, len(line_content(lines[-1]))
    row = max(0, position.line)
    return row, units_to_column(lines[row], position.character if position.line >= 0 else 0, encoding)


def to_position(lines: Sequence[str], place: Place, encoding: str) -> types.Position:
    """The client's position for a place in `lines`."""
    row, column = place
    return types.Position(row, column_to_units(lines[row], column, encoding))


def to_span(lines: Sequence[str], start: Place, end: Place, encoding: str) -> types.Range:
    """The client's range between two places in `lines`."""
    return types.Range(to_position(lines, start, encoding), to_position(lines, end, encoding))


def to_items(
    candidates: Sequence[Candidate], span: types.Range, lead: str, uri: str, version: int
) -> types.InlineCompletionList:
    """Candidates as plain-text items that replace `span` with `lead` and the candidate's text.

    Plain strings, because editors disagree about snippets; a range always, because without one they paste blindly.
    Each carries the command that tells us it was taken from the answer for this version of a document.
    """
    return types.InlineCompletionList(
        items=[
            types.InlineCompletionItem(
                insert_text=lead + item.text, range=span, command=accepted_command(uri, version, index)
            )
            for index, item in enumerate(candidates)
        ]
    )
