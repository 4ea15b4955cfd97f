"""Indentation: the width of a level, and rows in other units than the lines around them."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from infill_engine.text import lines

LOOKED_AT = 200  # lines above the cursor
SHOWN_LINES = 500  # lines that show how a text is indented
UNITS = (2, 4, 8)  # spaces in a level; three are too often an alignment


def unit_of(prefix: str, usual: int) -> int:
    """Return the spaces of an indentation level in the last lines of `prefix`; `usual` if these lines do not show
    it."""
    rows = [line for line in lines.split(prefix)[-LOOKED_AT:] if line.strip()]
    widths = [len(lines.indent_of(row)) for row in rows if "\t" not in lines.indent_of(row)]
    steps = Counter(after - before for before, after in pairwise(widths) if after > before)
    known = [(count, -step) for step, count in steps.items() if step in UNITS]
    return -max(known)[1] if known else usual


def unit_of_rows(rows: Sequence[str], level: int, usual: int) -> int:
    """Return the spaces of an indentation level in rows, the first of which is at `level`; `usual` if they do not show
    it.

    A row at column 0 means that all rows were written as if the cursor were at column 0.
    """
    widths = [len(lines.indent_of(row)) for row in rows if row.strip()]
    if not widths:
        return usual
    if 0 in widths:
        level = 1
    unit, rest = divmod(widths[0], level) if level else (usual, 0)
    return unit if unit in UNITS and not rest else usual


def shown_in(text: str) -> str:
    """Return a level of indentation as most lines of a text have it: a tab or some blanks; "" if none is indented."""
    rows = [line for line in lines.split(text)[-SHOWN_LINES:] if line.strip()]
    tabs = sum(row.startswith("\t") for row in rows)
    blanks = sum(row.startswith("  ") for row in rows)
    if not tabs and not blanks:
        return ""
    widths = (len(lines.indent_of(row)) for row in rows if row.startswith("  "))
    least = min((width for width in widths if width in UNITS), default=UNITS[1])
    return "\t" if tabs > blanks else " " * unit_of(text, least)


def in_units(row: str, old: str, new: str) -> str:
    """Return a row with `new` in place of each `old` in its indentation."""
    own = lines.indent_of(row)
    return own.replace(old, new) + row[len(own) :]
