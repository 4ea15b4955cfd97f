"""`infill-ls models get`: builds the default model's weights on this machine from a published file.

--from names the file and --download fetches it; nothing is fetched otherwise. Intact weights are left alone. An
interrupted run resumes where it stopped.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from infill_engine.errors import InputError
from infill_engine.models.checkpoint.user_data import trunk_folder
from infill_engine.models.registry import DEFAULT, TRUNK
from lsp_server.cli.models import building
from lsp_server.cli.terminal import console_of, doing

NAMES = (DEFAULT, TRUNK)
LINE_SECONDS = 5.0  # between two lines of progress when there is no terminal


def run(options: argparse.Namespace) -> int:
    """Build the weights, or report where they are. Raises ModelError, or InputError if the disk is full."""
    if options.name not in NAMES:
        raise InputError(
            f"`models get` builds the default model, not {options.name}; a published model is fetched when it is first "
            f"used: `infill-ls complete FILE:LINE:COL --model {options.name}`"
        )
    with doing("checking the weights"):
        present = building.intact_folder()
    if present is not None:
        where = "already built" if present == trunk_folder() else "installed with infill-ls"
        return _tell(options, present, [], f"The default model is {where} and intact: {present}")
    console = console_of(sys.stderr if options.json else sys.stdout)
    folder = trunk_folder()
    with _progress(console) as report:
        built = building.build(options.file and Path(options.file).expanduser(), report, download=options.download)
    return _tell(options, folder, built, f"Built {len(built)} files in {folder}. Restart the server to use them.")


def _tell(options: argparse.Namespace, folder: Path, built: list[str], sentence: str) -> int:
    if options.json:
        print(json.dumps({"folder": str(folder), "built": built}))
    else:
        console_of(sys.stdout).print(sentence, soft_wrap=True)
    return 0


@contextlib.contextmanager
def _progress(console: Console) -> Iterator[Callable[[str, float], None]]:
    """Yield the progress callback: a bar in a terminal, an occasional line elsewhere."""
    if not console.is_terminal:
        line = partial(console.print, soft_wrap=True)
        yield building.now_and_then(lambda doing, share: line(f"{doing}: {share:.0%}"), LINE_SECONDS)
        return
    columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda doing, share: progress.update(task, completed=share, description=doing)
