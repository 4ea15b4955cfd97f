"""The trunk's weights, read from its shards one matrix at a time, and the interface of any Qwen2 decoder's weights.

The shards stay mapped from disk, so a tensor is in memory only while the caller holds it: an adapter can be merged into
a matrix and the sum packed again without a float32 copy of the whole trunk.
"""

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.files import indexed_files, read_config
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.folder import REMEDY, verify_shards
from infill_engine.models.trunk.files.formats import Bytes, Floats, pack_blocks, unpack
from infill_engine.models.trunk.files.shards import map_shard

MATRICES = ("q", "k", "v", "o", "gate", "up", "down")
Packed = tuple[NDArray[np.int8], Floats]  # codes [N, K] and a scale for each row [N]: a row is `codes * scale`


class Weights(Protocol):
    """The weights of a Qwen2 decoder. Every method raises ModelDamagedError, which names the file and the remedy."""

    @property
    def config(self) -> TrunkConfig: ...

    def read_matrix(self, layer: int, name: str) -> Floats:
        """Return a matrix [out, in] of a layer in float32: one of MATRICES."""
        ...

    def read_vector(self, name: str) -> Floats:
        """Return a bias or norm in float32, such as `layers.0.q.bias`, `layers.0.mlp_norm` or `norm`."""
        ...

    def embedding(self) -> Packed:
        """Return the embedding [V, dim]; also the head if they are tied."""
        ...

    def head(self) -> Packed:
        """Return the head [V, dim] of a model in which it is not the embedding."""
        ...


class TrunkWeights:
    """The tensors of a trunk's folder. Every method raises ModelDamagedError, which names the file and the remedy."""

    def __init__(self, folder: Path) -> None:
        """Read all shards once, to compare them with their checksums."""
        verify_shards(folder)
        self.folder = folder
        self.config = TrunkConfig.from_json(read_config(folder))
        try:
            shards = [map_shard(folder / name) for name in indexed_files(folder, REMEDY)]
        except (OSError, KeyError) as error:
            raise ModelDamagedError(f"the shards in {folder} cannot be read ({error}); {REMEDY}") from error
        self._tensors = {name: tensor for shard in shards for name, tensor in shard.items()}

    def read_matrix(self, layer: int, name: str) -> Floats:
        """See `Weights`."""
        matrix = unpack(*self.read_packed(layer, name))
        expected = self.config.shapes[name]
        if matrix.shape != expected:
            raise ModelDamagedError(
                f"layers.{layer}.{name} in {self.folder} is {matrix.shape} and should be {expected}; {REMEDY}"
            )
        return matrix

    def read_packed(self, layer: int, name: str) -> tuple[Bytes, NDArray[np.float16], Bytes | None]:
        """Return a matrix as `formats.unpack` takes it: codes, scales, and fifth bits if it has them."""
        return self._packed(f"layers.{layer}.{name}")

    def read_vector(self, name: str) -> Floats:
        """See `Weights`."""
        vector: Floats = self._read(name).astype(np.float32)
        return vector

    def embedding(self) -> Packed:
        """See `Weights`."""
        codes, scales, high = self._packed("embedding")
        found = (len(codes), codes.shape[1] * (1 if codes.dtype == np.int8 else 2))
        expected = (self.config.vocabulary, self.config.dim)
        if found != expected:
            raise ModelDamagedError(f"the embedding in {self.folder} is {found} and should be {expected}; {REMEDY}")

        def read(part: slice) -> Floats:
            return unpack(codes[part], scales[part], None if high is None else high[part])

        return pack_blocks(read, expected)

    def head(self) -> Packed:
        """See `Weights`."""
        return self.embedding()

    def _packed(self, prefix: str) -> tuple[Bytes, NDArray[np.float16], Bytes | None]:
        return self._read(f"{prefix}.codes"), self._read(f"{prefix}.scales"), self._tensors.get(f"{prefix}.high")

    def _read(self, name: str) -> NDArray[Any]:
        if name not in self._tensors:
            raise ModelDamagedError(f"the shards in {self.folder} lack {name}; {REMEDY}")
        return self._tensors[name]
