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
from infill_engine.models.trunk.files.shards import map_made_for

NEXT_EDITS = "next-edits.safetensors"
Halves = NDArray[np.float16]
NOTHING: Halves = np.zeros((0, 0, 0, 0), np.float16)


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
        arrays = map_made_for(path, made_for)
        if arrays is None:
            return None
        keys, values = (arrays.get(name, NOTHING) for name in ("keys", "values"))
        rows = keys.shape[2] if keys.ndim == NOTHING.ndim else 0
        if not keys.shape == values.shape == (config.layers, config.kv_heads, rows, config.head_dim):
            raise ModelDamagedError(f"{path} does not fit this model")
        return cls(keys, values)
