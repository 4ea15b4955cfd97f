"""The trained low-rank matrices, stored in a small file beside the trunk and merged into it when it loads.

For a matrix W [out, in] the file has `….up` [out, rank] and `….down` [rank, in], int8 with a float32 scale for each
row; W becomes W + up @ down (LoRA, arXiv 2106.09685). The queries, keys and values of a layer share one pair, as do
both halves of its MLP.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from infill_engine.errors import ModelDamagedError

ADAPTER = "adapter.safetensors"
LEVELS, LEAST = 127, 1e-8  # the largest level of int8, and the least scale of a row
Floats = NDArray[np.float32]
Pair = tuple[Floats, Floats]
NAMES = ("qkv", "out", "gate_up", "down")


class Adapter:
    """Low-rank terms by the name of their matrix, such as `layers.3.gate_up`; empty for the plain trunk."""

    def __init__(self, pairs: Mapping[str, Pair] | None = None) -> None:
        self._pairs = dict(pairs or {})

    @classmethod
    def load(cls, folder: Path) -> "Adapter":
        """Return the adapter in a folder, or none if there is no file. Raises ModelDamagedError."""
        path = folder / ADAPTER
        if not path.is_file():
            return cls()
        try:
            stored = load_file(path)
            names = {name.rsplit(".", 2)[0] for name in stored}
            read = {name: tuple(_read(stored, f"{name}.{side}") for side in ("up", "down")) for name in names}
        except (SafetensorError, KeyError, OSError) as error:
            raise ModelDamagedError(
                f"{path} cannot be read ({type(error).__name__}). Install infill-ls again, or remove the file to use "
                "the default model without its adapter."
            ) from error
        return cls({name: (up, down) for name, (up, down) in read.items()})

    def pair(self, name: str) -> Pair | None:
        """Return `up` [out, rank] and `down` [rank, in] of a matrix, if it has a low-rank term."""
        return self._pairs.get(name)

    def save(self, folder: Path) -> None:
        """Write the adapter beside the trunk."""
        stored: dict[str, NDArray[np.generic]] = {}
        for name, pair in self._pairs.items():
            for side, matrix in zip(("up", "down"), pair, strict=True):
                scale = np.maximum(np.abs(matrix).max(1) / LEVELS, LEAST).astype(np.float32)
                stored[f"{name}.{side}.levels"] = np.rint(matrix / scale[:, None]).astype(np.int8)
                stored[f"{name}.{side}.scale"] = scale
        save_file(stored, folder / ADAPTER)

    def merged(self, name: str, matrix: Floats) -> Floats:
        """Return the matrix [out, in] with its low-rank term, if it has one. `matrix` is changed in place."""
        pair = self._pairs.get(name)
        if pair is None:
            return matrix
        up, down = pair
        if up.shape[0] != matrix.shape[0] or down.shape[1] != matrix.shape[1]:
            raise ModelDamagedError(f"The adapter's {name} does not fit the default model. Install infill-ls again.")
        matrix += up @ down
        return matrix


def _read(stored: Mapping[str, NDArray[Any]], name: str) -> Floats:
    matrix: Floats = stored[f"{name}.levels"].astype(np.float32) * stored[f"{name}.scale"][:, None]
    return matrix
