"""The trained low-rank matrices, stored in a small file beside the trunk and merged into it when it loads.

For a matrix W [out, in] the file has `….up` [out, rank] and `….down` [rank, in], int8 with a float32 scale for each
row; W becomes W + up @ down (LoRA, arXiv 2106.09685). The queries, keys and values of a layer share one pair, as do
both halves of its MLP.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from infill_engine.errors import ModelDamagedError
from infill_engine.models.quantization.int8_linear import dequantise, quantise

ADAPTER = "adapter.safetensors"
NAMES = ("qkv", "out", "gate_up", "down")


class Adapter:
    """Low-rank terms by the name of their matrix, such as `layers.3.gate_up`; empty for the plain trunk."""

    def __init__(self, pairs: Mapping[str, tuple[Tensor, Tensor]] | None = None) -> None:
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
                "the trunk without its adapter."
            ) from error
        return cls({name: (up, down) for name, (up, down) in read.items()})

    def pair(self, name: str) -> tuple[Tensor, Tensor] | None:
        """`up` [out, rank] and `down` [rank, in] of a matrix, if it has a low-rank term."""
        return self._pairs.get(name)

    def save(self, folder: Path) -> None:
        """Write the adapter beside the trunk."""
        stored: dict[str, Tensor] = {}
        for name, pair in self._pairs.items():
            for side, matrix in zip(("up", "down"), pair, strict=True):
                levels, scale = quantise(matrix.float())
                stored[f"{name}.{side}.levels"], stored[f"{name}.{side}.scale"] = levels, scale
        save_file(stored, folder / ADAPTER)

    def merged(self, name: str, matrix: Tensor) -> Tensor:
        """Return the matrix [out, in] with its low-rank term, if it has one. `matrix` may be changed in place."""
        pair = self._pairs.get(name)
        if pair is None:
            return matrix
        up, down = pair
        if up.shape[0] != matrix.shape[0] or down.shape[1] != matrix.shape[1]:
            raise ModelDamagedError(f"The adapter's {name} does not fit the trunk. Install infill-ls again.")
        return torch.addmm(matrix, up, down, out=matrix)


def _read(stored: Mapping[str, Tensor], name: str) -> Tensor:
    return dequantise(stored[f"{name}.levels"], stored[f"{name}.scale"])
