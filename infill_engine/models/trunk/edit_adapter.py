"""The edit adapter: low-rank terms that turn the trunk to next edits, in a file beside it.

They are small products of their own (LoRA, arXiv 2106.09685), added to the products of the same matrices in the passes
of a next edit: W x becomes W x + up (down x). Completions do not compute them, so one loaded model serves both.

The file has, for the matrices of `adapter.NAMES` as they are served, with smoothed inputs (`smoothing`),

    layers.{i}.{matrix}.down    float16 [rank, in]
    layers.{i}.{matrix}.up      float16 [out, rank]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.folder import sha256_of
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.shards import Arrays, map_made_for

EDIT_ADAPTER = "edit-adapter.safetensors"
SMOOTHED = {"qkv": "attention", "gate_up": "mlp", "down": "down"}  # the input of each matrix with smoothed inputs
Halves = NDArray[np.float16]
Floats = NDArray[np.float32]


class Term(NamedTuple):
    """A low-rank term of a matrix [out, in]."""

    down: Halves  # [rank, in]
    up: Halves  # [out, rank]


@dataclass(frozen=True, slots=True)
class EditAdapter:
    """The terms, and the checksum of their file."""

    arrays: Arrays
    checksum: str = ""

    @classmethod
    def load(cls, folder: Path, config: TrunkConfig, made_for: str) -> "EditAdapter | None":
        """Return the adapter in a folder; None if there is no file. Raises ModelDamagedError.

        `made_for` identifies the trunk that it was trained with.
        """
        path = folder / EDIT_ADAPTER
        arrays = map_made_for(path, made_for)
        if arrays is None:
            return None
        if not _fits(arrays, config):
            raise ModelDamagedError(f"{path} does not fit this model")
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise ModelDamagedError(f"{path} is damaged: it has numbers that are not finite")
        return cls(arrays, sha256_of(path))

    def term(self, layer: int, name: str) -> Term:
        """Return the term of a matrix."""
        return Term(*(self.arrays[f"layers.{layer}.{name}.{side}"] for side in Term._fields))

    def in_floats(self) -> dict[str, Floats]:
        """Return all matrices of the terms in float32."""
        return {name: array.astype(np.float32) for name, array in self.arrays.items()}

    def unsmoothed_term(self, layer: int, name: str, factors: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Return the term of a matrix without smoothing, in float32. `factors` are those of `MergedLayer`."""
        down, up = (side.astype(np.float32) for side in self.term(layer, name))
        if name in SMOOTHED:
            down /= factors[SMOOTHED[name]]
        if name == "gate_up":
            hidden = len(factors["down"])
            up[hidden:] *= factors["down"][:, None]
        return down, up


def _fits(arrays: Arrays, config: TrunkConfig) -> bool:
    """Return whether there is a term of the right shape for each matrix, and nothing else."""
    found = {name: (array.dtype, array.shape) for name, array in arrays.items()}
    rank = arrays.get("layers.0.qkv.up", np.empty((0, 0))).shape[-1]
    wanted = {}
    for layer in range(config.layers):
        for name, (out, width) in config.joined_shapes.items():
            wanted[f"layers.{layer}.{name}.down"] = (np.dtype(np.float16), (rank, width))
            wanted[f"layers.{layer}.{name}.up"] = (np.dtype(np.float16), (out, rank))
    return rank > 0 and found == wanted
