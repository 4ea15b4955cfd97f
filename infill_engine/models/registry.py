"""What a model's name means, for the server, the command line and the benchmarks. Does not import torch.

default             the default model; retrieved texts alone if it cannot be loaded
trunk               the default model; loading fails if it is missing
scripted:FILE.json  answers from a file, for tests
OWNER/NAME          a published model
PATH                a GGUF file, or a folder with config.json, model.safetensors and tokenizer.json

The default model has two names. For users it is "the default model". In code, and in the folders of its weights, it is
the trunk: the network into which the adapter is merged, and on which the denoiser's mask rows build. Another Qwen2
decoder runs with the same code. It has the trunk's architecture, but it is not the default model.
"""

import os
from pathlib import Path

from infill_engine.errors import ModelDamagedError, ModelNotFoundError
from infill_engine.models.checkpoint import hub
from infill_engine.models.checkpoint.user_data import trunk_folder
from infill_engine.models.trunk.files.folder import TRUNK_FOLDER, find_trunk

DEFAULT, TRUNK, SCRIPTED = "default", "trunk", "scripted"
RETRIEVAL = "retrieval"  # what serves if no model can; not a name that can be chosen
ADDRESS = "://"  # in the name of a model on a server; parsed by `infill_engine.engine.remote`


def resolved(name: str, folder: Path) -> str:
    """Return the name in a form that a process in any folder can use, such as an engine: a path is made absolute.

    A folder of that name takes precedence over a published model.
    """
    if name in (DEFAULT, TRUNK, SCRIPTED) or ADDRESS in name:
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
    if script_of(name) is not None:
        return None
    if hub.is_hub_name(name) and (folder := hub.cached(name)) is not None:
        return folder
    if name in (DEFAULT, TRUNK):
        found = find_trunk(trunk_folder())
        if found.folder is None:
            raise ModelDamagedError(found.user_message) if found.damaged else ModelNotFoundError(found.user_message)
        return found.folder
    return Path(name).expanduser()


def script_of(name: str) -> str | None:
    """Return the file of a scripted model, "" for the built-in script, or None for another model."""
    kind, _, path = name.partition(":")
    return path if kind == SCRIPTED else None


def trained_folder(folder: Path) -> Path:
    """Return where a model's adapter and calibration are: for the trunk, in the package, wherever its shards are."""
    return TRUNK_FOLDER if folder == trunk_folder() else folder


def _absolute(path: str, folder: Path) -> str:
    return os.path.abspath(folder / Path(path).expanduser())
