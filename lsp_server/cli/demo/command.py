"""`infill-ls demo`: shows a hole in a real file, its canvas during denoising, the candidates, and what to do next."""

import argparse
import sys
from dataclasses import replace
from importlib.resources import files

from rich.console import Console
from rich.text import Text

from infill_engine.engine.remote.address import is_remote
from infill_engine.errors import InputError
from infill_engine.types import Answer, Reason
from lsp_server.cli.answers import print_answer, print_reason
from lsp_server.cli.asking import Asked, ask, load_engine_for
from lsp_server.cli.demo.canvas_player import CanvasPlayer
from lsp_server.cli.place import NamedPlace, Opened, open_at, open_text
from lsp_server.cli.terminal import console_of, visible
from lsp_server.protocol.positions import line_content
from lsp_server.settings.schema import ServerSettings

EXAMPLE = "example.py"
HOLE_LINE = "        writer.writerow((entry.day.isoformat(), entry.payee, entry.amount, entry.category))\n"
HOLE_TEXT = "entry.amount"
LINES_ABOVE, LINES_BELOW = 4, 3


def run(options: argparse.Namespace) -> int:
    """Print the demo on stdout. Raises InfillError for a place or a model that does not exist."""
    if is_remote(options.model):
        raise InputError("a remote model has no denoising steps to show; use `infill-ls complete FILE:LINE:COL`")
    console = console_of(sys.stdout)
    if options.place is None:
        named, opened, expected = bundled()
    else:
        named, expected = NamedPlace.parse(options.place), None
        found = open_at(named)
        if isinstance(found, Reason):
            print_reason(Asked(Answer(reason=found), options.budget_ms, 0.0, options.model), named)
            return 0
        opened = found
    _print_hole(console, named, opened)
    engine, player = load_engine_for(options), CanvasPlayer()
    asked = ask(engine, opened, ServerSettings(budget_ms=options.budget_ms), player.record, read_before=True)
    player.show(console)
    console.print()
    print_answer(asked, named, opened)
    if expected is not None:
        console.print(f"The author wrote: {expected}")
    console.print(
        "Before that the model was loaded and both sides were read. The server reads ahead too: when a file is opened, "
        "and while you type. README.md says how to use it in your editor.",
        soft_wrap=True,
    )
    return 0


def bundled() -> tuple[NamedPlace, Opened, str]:
    """Return the place of the hole, the bundled file with part of one line removed, and the removed text."""
    path = files("lsp_server.cli.demo") / EXAMPLE
    text = path.read_text(encoding="utf-8")
    rows = text.splitlines(keepends=True)
    row, column = rows.index(HOLE_LINE), HOLE_LINE.index(HOLE_TEXT)
    rows[row] = HOLE_LINE.replace(HOLE_TEXT, "", 1)
    snapshot = open_text("file:///example.py", "python", "".join(rows))
    opened = Opened(replace(snapshot, cursor=(row, column)), (row, column))
    return NamedPlace.parse(f"{EXAMPLE}:{row + 1}:{column + 1}"), opened, HOLE_TEXT


def _print_hole(console: Console, named: NamedPlace, opened: Opened) -> None:
    """Print the lines around the hole with line numbers, and mark the hole."""
    row, column = opened.place
    lines = opened.snapshot.lines
    console.print(Text(f"{named}: what belongs in the hole?", "bold"))
    first = max(0, row - LINES_ABOVE)
    for number in range(first, min(len(lines), row + LINES_BELOW + 1)):
        content = line_content(lines[number])
        shown = Text().append(f"{number + 1:5}  ", "dim")
        if number == row:
            shown.append(visible(content[:column])).append("▒▒▒", "bold magenta").append(visible(content[column:]))
        else:
            shown.append(visible(content))
        console.print(shown, no_wrap=True, overflow="ellipsis" if console.is_terminal else "ignore", crop=False)
    console.print()
