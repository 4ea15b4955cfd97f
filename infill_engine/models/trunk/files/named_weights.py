"""The weights of any Qwen2 decoder that is stored in floating point, or in a format that converts back to it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from infill_engine.errors import ModelDamagedError
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.formats import Floats, pack_blocks
from infill_engine.models.trunk.files.weights import Packed

EMBEDDING, HEAD = "embedding", "head"
EVERY = slice(None)
Read = Callable[[str, slice], Floats]  # some rows of the tensor with this name


class NamedWeights:
    """Implements `weights.Weights`. `names` has the file's name for each of ours, with {} for the layer's number."""

    def __init__(self, config: TrunkConfig, names: Mapping[str, str], read: Read, path: Path) -> None:
        self.config, self.path = config, path
        self._names, self._read = names, read

    def read_matrix(self, layer: int, name: str) -> Floats:
        """See `Weights`."""
        stored = self._names[name].format(layer)
        return self._checked(stored, self._read(stored, EVERY), self.config.shapes[name])

    def read_vector(self, name: str) -> Floats:
        """See `Weights`."""
        if not name.startswith("layers."):
            return self._read(self._names[name], EVERY)
        _, layer, rest = name.split(".", 2)
        return self._read(self._names[rest].format(layer), EVERY)

    def embedding(self) -> Packed:
        """See `Weights`."""
        return self._packed(self._names[EMBEDDING])

    def head(self) -> Packed:
        """See `Weights`."""
        return self._packed(self._names[HEAD])

    def _packed(self, stored: str) -> Packed:
        shape = (self.config.vocabulary, self.config.dim)
        self._checked(stored, self._read(stored, slice(shape[0] - 1, None)), (1, shape[1]))
        return pack_blocks(lambda part: self._read(stored, part), shape)

    def _checked(self, stored: str, found: Floats, expected: tuple[int, ...]) -> Floats:
        if found.shape != expected:
            raise ModelDamagedError(
                f"{self.path} does not fit together: {stored} is {found.shape} and should be {expected}; fetch it again"
            )
        if not np.isfinite(found).all():
            raise ModelDamagedError(f"{self.path} is damaged: {stored} has values that are not numbers; fetch it again")
        return found
