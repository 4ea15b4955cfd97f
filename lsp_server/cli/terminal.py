"""Output for human readers. Untrusted text is safe to print."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TextIO

from rich.bar import Bar
from rich.console import Console
from rich.table import Table

LINE_CHARS = 400  # longer lines wrap even in a file
BAR_CHARS = 40


def console_of(stream: TextIO) -> Console:
    """Return a console whose output document text cannot break or recolour."""
    if stream is sys.stdout and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    # Output to a file or a program is not wrapped, so that phrases can be found in it.
    width = None if stream.isatty() else LINE_CHARS
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


@contextlib.contextmanager
def doing(what: str) -> Iterator[None]:
    """Show a message in a terminal while slow work runs."""
    console = Console(file=sys.stderr)
    if console.is_terminal and os.environ.get("TERM") != "dumb":
        with console.status(what):
            yield
    else:
        yield


def bars_of(rows: Sequence[tuple[str, int, str, str]], most: int = 0) -> Table:
    """Return a bar for each name, number, colour and remark. `most`, or else the largest number, has the longest."""
    most = max(most, 1, *(number for _, number, _, _ in rows))
    table = Table.grid(padding=(0, 0, 0, 2), pad_edge=True)
    for justify in ("left", "right", "left", "left"):
        table.add_column(justify=justify)
    for name, number, colour, remark in rows:
        table.add_row(name, f"{number:,}", Bar(most, 0, number, width=BAR_CHARS, color=colour), remark)
    return table


def visible(text: str) -> str:
    """Return `text` with invisible and control characters written as escapes. A tab becomes four spaces."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else "    " if character == "\t" else _escape(character)
        for character in text
    )


def visible_lines(text: str) -> str:
    """Like `visible`, but keeps line breaks."""
    return "\n".join(map(visible, text.split("\n")))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
