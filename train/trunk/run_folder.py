"""A training run on disk: one checkpoint, always replaced as a whole, and a log of evaluations."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from infill_engine.errors import TrainingError

CHECKPOINT, LOG = "last.pt", "log.jsonl"


def restore(
    folder: Path, parameters: Mapping[str, Tensor], optimiser: torch.optim.Optimizer, *names: str
) -> tuple[Any, ...] | None:
    """Load the folder's checkpoint into parameters and optimiser, and return its values of these names.

    Returns None if there is no checkpoint. Raises TrainingError if it cannot be read.
    """
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        state = torch.load(path, weights_only=True)
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(state["parameters"][name])
        optimiser.load_state_dict(state["optimiser"])
        return tuple(state[name] for name in names)
    except Exception as error:  # torch raises many kinds of exceptions for a damaged file
        raise TrainingError(f"{path} cannot be read ({type(error).__name__}); remove it to start afresh") from error


def save(folder: Path, parameters: Mapping[str, Tensor], optimiser: torch.optim.Optimizer, **values: object) -> None:
    """Replace the folder's checkpoint."""
    detached = {name: parameter.detach() for name, parameter in parameters.items()}
    unfinished = folder / f"{CHECKPOINT}.part"
    torch.save({"parameters": detached, "optimiser": optimiser.state_dict(), **values}, unfinished)
    unfinished.replace(folder / CHECKPOINT)


def log(folder: Path, **values: object) -> None:
    """Print an evaluation and append it to the folder's log."""
    line = json.dumps(values)
    print(line, flush=True)
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(line + "\n")
