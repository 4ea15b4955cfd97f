"""Characters, line ends, blanks and the number of lines."""

import re

from infill_engine.text import lines
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, InfillRequest, Surroundings

# Everything up to the first invalid character: a control character other than tab, line end and form feed, a lone
# surrogate, or the replacement character, which marks truncated bytes.
_TEXT = re.compile("[^\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff\ufffd]*")
HARD_BREAK = "  "  # two spaces at the end of a line of prose are a line break in Markdown


def undecodable(text: str, request: Surroundings, hole: Hole) -> str | None:  # noqa: ARG001
    """Cut the text before the first invalid character."""
    kept = _TEXT.match(text)
    return kept.group() if kept is not None else None


def plain_line_ends(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Convert CRLF and lone CR to LF, whatever the document uses: editors convert it, and some would show a CR."""
    return lines.with_plain_ends(text)


def leading_blank(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """On a blank line, drop leading blank lines, and then the indentation that is already left of the cursor."""
    left = lines.last_line(request.prefix)
    if left.strip():
        return text
    rows = text.split("\n")
    first = next((index for index, row in enumerate(rows) if row.strip()), None)
    if first is None:
        return text
    rows = rows[first:]
    if left and rows[0].startswith(left):
        rows[0] = rows[0][len(left) :]
    return "\n".join(rows)


def max_lines(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Cut the text after `hole.max_lines` lines."""
    return "\n".join(text.split("\n", hole.max_lines)[: hole.max_lines])


def trailing_blank(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Strip whitespace at line ends, and at the end unless it separates the text from what follows."""
    hard_breaks = language_named(request.language).layout.hard_breaks
    *above, last = text.split("\n")
    text = "\n".join([*(_stripped(row, hard_breaks) for row in above), last])
    right, *below = lines.split(request.suffix)
    if not right.strip():
        return _stripped(text, hard_breaks and bool(below) and bool(below[0].strip()))
    return text.rstrip() if right[0].isspace() or right[0] in ")]},;:" else text


def _stripped(row: str, hard_breaks: bool) -> str:
    stripped = row.rstrip()
    return stripped + HARD_BREAK if hard_breaks and stripped and row.endswith(HARD_BREAK) else stripped


def blank(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text without a visible character."""
    return text if text.strip() else None
