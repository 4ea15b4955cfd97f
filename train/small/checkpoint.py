"""A training run on disk: one file that is always replaced atomically, and a log of its losses."""

import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.optim import Optimizer

from infill_engine.errors import InputError
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.dual_encoder import DualEncoder

LOG = "log.jsonl"  # in the folder of a run, and of a model exported from it


@dataclass(slots=True)
class Progress:
    """The progress of a chain of runs. `minutes` counts training time only, per kind of device."""

    steps: int = 0
    tokens: int = 0
    minutes: dict[str, float] = field(default_factory=dict)


def save(path: Path, model: DualEncoder, optimisers: list[Optimizer], progress: Progress) -> None:
    """Write a checkpoint next to `path` and rename it, so that the old one survives any failure."""
    state = {
        "config": model.config.to_dict(),
        "model": model.state_dict(),
        "optimisers": [optimiser.state_dict() for optimiser in optimisers],
        "progress": {"steps": progress.steps, "tokens": progress.tokens, "minutes": progress.minutes},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    try:
        with unfinished.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def load_state(path: Path) -> dict[str, Any]:
    """Read a checkpoint's tensors and plain values without executing code in it. Raises InputError if unreadable."""
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise InputError(f"{path} is not a readable checkpoint ({error}); move it away to start afresh") from error
    return state


def model_from(state: dict[str, Any]) -> DualEncoder:
    """Return the network of a checkpoint."""
    model = DualEncoder(DualEncoderConfig.from_dict(state["config"]))
    model.load_state_dict(state["model"])
    return model


def progress_of(folder: Path) -> Progress:
    """Return the progress of the model in an exported `folder`. Raises InputError if it is not recorded."""
    try:
        return Progress(**json.loads((folder / "training.json").read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"{folder}/training.json does not say how far the model was trained ({error})") from error


def take_log(folder: Path, other: Path) -> None:
    """Start the log in `folder` with the log of the run or model in `other`, if any, so that curves are complete."""
    if (other / LOG).exists() and not (folder / LOG).exists():
        shutil.copyfile(other / LOG, folder / LOG)


def append_log(path: Path, entry: dict[str, Any]) -> None:
    """Append one line to a run's log of losses."""
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(entry) + "\n")
