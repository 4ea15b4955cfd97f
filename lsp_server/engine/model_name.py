"""What a model's name means in a folder. The one place that knows: the editor's server and the command line agree."""

import os
from pathlib import Path

from infill_engine.models.checkpoint.folder import DEFAULT, SMALL, TRUNK
from infill_engine.models.checkpoint.hub import is_hub_name
from infill_engine.remote.address import is_remote

SCRIPTED = "scripted"  # answers from a file, for tests: scripted:FILE.json


def resolved(name: str, folder: Path) -> str:
    """The name as a process in any other folder can use it, which the worker is: a path is made absolute.

    A folder of that name goes first, then a published model, so that a name with one slash need not be told apart.
    """
    if name in (DEFAULT, TRUNK, SMALL, SCRIPTED) or is_remote(name):
        return name
    kind, colon, script = name.partition(":")
    if kind == SCRIPTED and colon:
        return f"{SCRIPTED}:{_absolute(script, folder)}"
    path = _absolute(name, folder)
    return name if is_hub_name(name) and not os.path.exists(path) else path


def _absolute(path: str, folder: Path) -> str:
    return os.path.abspath(folder / Path(path).expanduser())
