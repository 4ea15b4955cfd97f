"""What a model's name means, for the server, the command line and the benchmarks. Does not import torch.

default             the trunk, or the small model if the trunk is missing or too slow for the budget
trunk, small        one of the two, on any machine
scripted:FILE.json  answers from a file, for tests
OWNER/NAME          a published model
PATH                a GGUF file, or a folder with config.json, model.safetensors and tokenizer.json
"""

import os
from pathlib import Path

from infill_engine.errors import ModelDamagedError, ModelNotFoundError
from infill_engine.models.checkpoint import hub
from infill_engine.models.checkpoint.folder import SMALL_FOLDER
from infill_engine.models.checkpoint.user_data import trunk_folder
from infill_engine.models.trunk.files.folder import TRUNK_FOLDER, find_trunk

DEFAULT, TRUNK, SMALL, SCRIPTED = "default", "trunk", "small", "scripted"
ADDRESS = "://"  # in the name of a model on a server; parsed by `infill_engine.engine.remote`


def resolved(name: str, folder: Path) -> str:
    """Return the name in a form that a process in any folder can use, such as a worker: a path is made absolute.

    A folder of that name takes precedence over a published model.
    """
    if name in (DEFAULT, TRUNK, SMALL, SCRIPTED) or ADDRESS in name:
        return name
    kind, colon, script = name.partition(":")
    if kind == SCRIPTED and colon:
        return f"{SCRIPTED}:{_absolute(script, folder)}"
    path = _absolute(name, folder)
    return name if hub.is_hub_name(name) and not os.path.exists(path) else path


def folder_of(name: str) -> Path | None:
    """Return the folder that a model's name stands for; None for a model without files. Downloads nothing.

    Raises ModelNotFoundError or ModelDamagedError if the trunk is missing or incomplete.
    """
    if name == SCRIPTED or name.startswith(f"{SCRIPTED}:"):
        return None
    if hub.is_hub_name(name) and (folder := hub.cached(name)) is not None:
        return folder
    if name == SMALL:
        return SMALL_FOLDER
    if name in (DEFAULT, TRUNK):
        found = find_trunk(trunk_folder())
        if name == TRUNK and found.folder is None:
            raise ModelDamagedError(found.user_message) if found.damaged else ModelNotFoundError(found.user_message)
        return found.folder or SMALL_FOLDER
    return Path(name).expanduser()


def trained_folder(folder: Path) -> Path:
    """Return where a model's adapter and calibration are: for the trunk, in the package, wherever its shards are."""
    return TRUNK_FOLDER if folder == trunk_folder() else folder


def _absolute(path: str, folder: Path) -> str:
    return os.path.abspath(folder / Path(path).expanduser())
