"""The lines of a block stand at the hole's indentation or deeper."""

import re

from infill_engine.text import delimiters, lines
from infill_engine.types import Hole, InfillRequest

_TOP_LEVEL = re.compile(
    r"(?:def|class|async def|import|from|if __name__|func|fn|function|export|public|private)\b|[@}#/]"
)
_LEAVES = re.compile(r"(?:return|raise|break|continue|pass|throw)\b")
_GOES_ON = re.compile(r"(?:[:{,\\=+|&]|\b(?:do|then))\s*$")


def indentation(text: str, request: InfillRequest, hole: Hole) -> str | None:
    """Re-indent lines that are off by the same amount; cut where the block ends, before a line further left."""
    first, *rest = text.split("\n")
    if not rest:
        return text
    left = lines.last_line(request.prefix)
    # On a blank line the text may bring (the rest of) the indentation itself.
    indent = hole.indent if left.strip() else left + lines.indent_of(first)
    rest = [_like(row, indent) for row in rest]
    goes_on = bool(_GOES_ON.search(first) or delimiters.scan(first, request.language).opened)
    rest = [_moved(row, rest, first, indent, goes_on) for row in rest]
    end = next((i for i, row in enumerate(rest) if row.strip() and not row.startswith(indent)), len(rest))
    return "\n".join([first, *rest[:end]])


def _moved(row: str, rest: list[str], first: str, indent: str, goes_on: bool) -> str:
    base = _base(rest)
    if base == indent or not row.strip():
        return row
    if base.startswith(indent) and not goes_on and not row.lstrip().startswith("."):
        # Deeper although nothing was opened: all of it is meant to stand at the hole's indentation.
        return indent + row[len(base) :] if row.startswith(base) else row
    if not base and not _LEAVES.match(first.lstrip()) and not any(_TOP_LEVEL.match(other) for other in rest):
        # Nothing is indented at all: a block that was written relative to the cursor.
        return indent + row
    return row


def _base(rest: list[str]) -> str:
    """The indentation of the first line below the cursor's that is not blank."""
    return next((lines.indent_of(row) for row in rest if row.strip()), "")


def _like(row: str, indent: str) -> str:
    """`row` indented with tabs where the hole is, or with spaces where it is."""
    own = lines.indent_of(row)
    if "\t" in indent and own.startswith("    "):
        return own.replace("    ", "\t") + row[len(own) :]
    if indent and "\t" not in indent and "\t" in own:
        return own.replace("\t", "    ") + row[len(own) :]
    return row
