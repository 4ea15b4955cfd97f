"""`infill-ls demo`: shows a hole in a real file, what each pass decides, the candidates, and what to do next."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from infill_engine.engine.remote.address import is_remote
from infill_engine.errors import InputError
from lsp_server.cli.answers import print_answer
from lsp_server.cli.asking import ask_at_place
from lsp_server.cli.demo.canvas_player import CanvasPlayer
from lsp_server.cli.place import NamedPlace, OpenPlace, open_text
from lsp_server.cli.terminal import console_of, visible
from lsp_server.protocol.positions import line_content
from lsp_server.settings.schema import ServerSettings

OPEN, CLOSE = "⟦", "⟧"  # mark the piece of the example that is taken out
LINES_ABOVE, LINES_BELOW = 4, 3


def run(options: argparse.Namespace) -> int:
    """Print the demo on stdout. Raises InfillError for a place or a model that does not exist."""
    if is_remote(options.model):
        raise InputError("the passes of a remote model cannot be shown; use `infill-ls complete FILE:LINE:COL`")
    console, player, settings = console_of(sys.stdout), CanvasPlayer(), ServerSettings(budget_ms=options.budget_ms)
    example, piece = bundled() if options.place is None else (None, "")
    named, opened, asked = ask_at_place(options, settings, player.record, example=example, read_before=True)
    if opened is None:
        print_answer(asked, named, opened)
        return 0
    _print_hole(console, named, opened)
    player.show(console)
    console.print()
    print_answer(asked, named, opened)
    if piece:
        console.print(f"The author wrote: {piece}")
    console.print(
        "Before that the model was loaded and both sides were read. The server reads ahead too: when a file is opened, "
        "and while you type. README.md says how to use it in your editor.",
        soft_wrap=True,
    )
    return 0


def bundled() -> tuple[tuple[NamedPlace, OpenPlace], str]:
    """Return the place of the hole, the bundled file without the piece that was there, and that piece."""
    text = Path(__file__).with_name("example.txt").read_text(encoding="utf-8")
    before, _, rest = text.partition(OPEN)
    piece, _, after = rest.partition(CLOSE)
    place = before.count("\n"), len(before.rpartition("\n")[2])
    snapshot = replace(open_text("file:///example.py", "python", before + after), cursor=place)
    return (NamedPlace(Path("example.py"), place[0] + 1, place[1] + 1), OpenPlace(snapshot, place)), piece


def _print_hole(console: Console, named: NamedPlace, opened: OpenPlace) -> None:
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
