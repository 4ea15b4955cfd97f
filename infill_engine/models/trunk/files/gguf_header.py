"""Reads the header of a GGUF file: its fields, and where its tensors are. Reads no tensor.

The gguf package's reader makes an object of every token. This one takes 0.3 s instead of 4 s, and 450 MB less memory.
Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3.
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError

ARCHITECTURE = "qwen2"  # the only one that is used here
TOKENS = "tokenizer.ggml.tokens"
MAGIC, VERSIONS = b"GGUF", (2, 3)
REMEDY = "fetch it again"
STRING, ARRAY = 8, 9
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
MOST_DIMENSIONS = 4


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's shape [N, K] or [N], ggml's number for its type, and where it starts in the file."""

    shape: tuple[int, ...]
    kind: int
    start: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The fields of a GGUF file and its tensors, by name."""

    fields: Mapping[str, Any]
    tensors: Mapping[str, Tensor]


def read_gguf_header(path: Path) -> GgufHeader:
    """Return the header of the file at `path`. Raises ModelDamagedError."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _Reader(content).header()
    except OSError as error:
        raise ModelDamagedError(f"{path} cannot be read ({error.strerror}); check the disk and its name") from error
    except (struct.error, ValueError, KeyError, OverflowError, MemoryError) as error:
        raise ModelDamagedError(f"{path} is not a readable GGUF file ({error}); {REMEDY}") from error


class _Reader:
    """Reads one value after another."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content, self.at = content, 0

    def header(self) -> GgufHeader:
        if self.content[: len(MAGIC)] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        self.at = len(MAGIC)
        version = self._scalar("I")
        if version not in VERSIONS:
            raise ValueError(f"its version is {version}")
        tensors, fields = self._scalar("Q"), self._scalar("Q")
        found = {self._string(): self._value(self._scalar("I")) for _ in range(fields)}
        places = {self._string(): self._tensor() for _ in range(tensors)}
        alignment = found.get("general.alignment", 32)
        first = self.at + -self.at % alignment
        return GgufHeader(
            found, {name: Tensor(each.shape, each.kind, first + each.start) for name, each in places.items()}
        )

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._scalar(SCALARS[kind])
        of, count = self._scalar("I"), self._scalar("Q")
        if of == STRING:
            return [self._string() for _ in range(count)]
        return self._numbers(np.dtype(f"<{SCALARS[of]}"), count).tolist()

    def _tensor(self) -> Tensor:
        """Return a tensor whose start counts from the end of the header."""
        dimensions = self._scalar("I")
        if not 0 < dimensions <= MOST_DIMENSIONS:
            raise ValueError(f"a tensor has {dimensions} dimensions")
        sizes = [self._scalar("Q") for _ in range(dimensions)]
        return Tensor(tuple(reversed(sizes)), self._scalar("I"), self._scalar("Q"))

    def _scalar(self, letter: str) -> Any:
        (value,) = struct.unpack_from(f"<{letter}", self.content, self.at)
        self.at += struct.calcsize(f"<{letter}")
        return value

    def _string(self) -> str:
        (size,) = struct.unpack_from("<Q", self.content, self.at)
        start = self.at + 8
        self.at = start + size
        found = self.content[start : self.at]
        if len(found) != size:
            raise ValueError("it is cut short")
        return found.decode("utf-8")

    def _numbers(self, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
        found = np.frombuffer(self.content[self.at : self.at + count * dtype.itemsize], dtype)
        if len(found) != count:
            raise ValueError("it is cut short")
        self.at += found.nbytes
        return found
