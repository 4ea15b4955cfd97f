"""The soft prompt: keys and values in front of a patch that teach the trunk to write next edits.

The trunk's weights stay as they are, so one loaded model serves completions without it and next edits with it. Source:
prefix tuning (arXiv 2101.00190). The file has, for L layers and P rows,

    keys, values    float16 [L, kv_heads, P, head_dim]; keys are rotated to the positions 0 to P - 1
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.shards import map_shard, recipe_of, write_shard

NEXT_EDITS = "next-edits.safetensors"
Halves = NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class SoftPrompt:
    """Keys and values [L, kv_heads, P, head_dim] of P rows."""

    keys: Halves
    values: Halves

    def __len__(self) -> int:
        return int(self.keys.shape[2])

    @property
    def tokens(self) -> tuple[int, ...]:
        """Numbers that represent its rows in a prompt. None of them is a token."""
        return tuple(range(-1, -1 - len(self), -1))

    @classmethod
    def load(cls, folder: Path, config: TrunkConfig, made_for: str) -> "SoftPrompt | None":
        """Return the soft prompt in a folder; None if there is no file. Raises ModelDamagedError.

        `made_for` identifies the trunk that it was trained with.
        """
        path = folder / NEXT_EDITS
        if not path.is_file():
            return None
        try:
            if recipe_of(path) != made_for:
                raise ModelDamagedError(f"{path} was made for another model")
            arrays = map_shard(path)
            found = cls(arrays["keys"], arrays["values"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ModelDamagedError(f"{path} cannot be read ({type(error).__name__})") from error
        shape = config.layers, config.kv_heads, len(found), config.head_dim
        if found.keys.shape != shape or found.values.shape != shape:
            raise ModelDamagedError(f"{path} does not fit this model")
        return found


def write_soft_prompt(path: Path, prompt: SoftPrompt, made_for: str) -> None:
    """Write a soft prompt for the trunk that `made_for` identifies."""
    write_shard(path, {"keys": prompt.keys, "values": prompt.values}, made_for)
