"""A training run on disk: one checkpoint, always replaced as a whole, and a log of evaluations."""

import json
from pathlib import Path
from typing import Any

import torch

from infill_engine.errors import TrainingError

CHECKPOINT, LOG = "last.pt", "log.jsonl"


def read(folder: Path, device: str | torch.device) -> dict[str, Any] | None:
    """Return what the folder's checkpoint holds, or None without one. Raises TrainingError if it cannot be read."""
    path = folder / CHECKPOINT
    if not path.is_file():
        return None
    try:
        found = torch.load(path, map_location=device, weights_only=True)
        if not isinstance(found, dict) or "parameters" not in found:
            raise ValueError
    except Exception as error:  # torch raises many kinds of exceptions for a damaged file
        raise TrainingError(f"{path} cannot be read ({type(error).__name__}); remove it to start afresh") from error
    return found


def write(folder: Path, **values: object) -> None:
    """Replace the folder's checkpoint."""
    unfinished = folder / f"{CHECKPOINT}.part"
    torch.save(values, unfinished)
    unfinished.replace(folder / CHECKPOINT)


def log(folder: Path, values: dict[str, float]) -> None:
    """Append an evaluation to the folder's log."""
    with (folder / LOG).open("a", encoding="utf-8") as file:
        file.write(json.dumps(values) + "\n")
