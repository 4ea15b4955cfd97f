"""Safetensors files that are identical on every machine, and which tensors go into which of them.

The safetensors library may order a file differently from one version to the next, so the files are written here:
wider types first, then by name, with the header padded to eight bytes.
"""

import hashlib
import json
import mmap
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
DTYPES = {"float32": "F32", "float16": "F16", "int8": "I8", "uint8": "U8"}
NUMPY_TYPES = {short: np.dtype(name).newbyteorder("<") for name, short in DTYPES.items()}
RECIPE = "recipe"  # in a shard's metadata: what it was made from and how
PART = ".part"  # the suffix of a file that is being written


def write_shard(path: Path, arrays: Arrays, recipe: str) -> str:
    """Write tensors to a safetensors file, atomically. Returns its SHA-256."""
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": "pt", RECIPE: recipe}}
    end = 0
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        header[name] = {"dtype": DTYPES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    unfinished = path.with_name(path.name + PART)
    with unfinished.open("wb") as file:
        for piece in (len(text).to_bytes(8, "little"), text, *(_bytes_of(arrays[name]) for name in names)):
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    return digest.hexdigest()


def map_shard(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that `write_shard` wrote, mapped from disk. Changes to them stay in memory.

    Raises OSError.
    """
    mapped = np.memmap(path, np.uint8, mode="c")
    length = int(mapped[:8].view("<u8")[0])
    header = json.loads(mapped[8 : 8 + length].tobytes())
    arrays: dict[str, NDArray[Any]] = {}
    for name, about in header.items():
        if name != "__metadata__":
            start, end = (8 + length + offset for offset in about["data_offsets"])
            arrays[name] = np.asarray(mapped[start:end]).view(NUMPY_TYPES[about["dtype"]]).reshape(about["shape"])
    return arrays


def forget_mapped(arrays: Arrays) -> None:
    """Give back the memory of a file that `map_shard` mapped. What is read again comes from the file."""
    if not hasattr(mmap.mmap, "madvise"):  # on Windows
        return
    mapped = {id(base): base for array in arrays.values() if isinstance(base := _base(array), mmap.mmap)}
    for base in mapped.values():
        base.madvise(mmap.MADV_DONTNEED)


def _base(array: NDArray[Any]) -> object:
    """Return the object that has an array's memory."""
    found: object = array
    while isinstance(found, np.ndarray | memoryview):
        found = found.base if isinstance(found, np.ndarray) else found.obj
    return found


def write_text(path: Path, text: str) -> None:
    """Write a text file, atomically, with the same line ends on every machine."""
    unfinished = path.with_name(path.name + PART)
    unfinished.write_bytes(text.encode("utf-8"))
    unfinished.replace(path)


def shard_name(number: int, count: int) -> str:
    """Return the file name of a shard, counted from 0."""
    return f"model-{number + 1:05}-of-{count:05}.safetensors"


def split(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Return the numbers of parts with these sizes in bytes, in order, in `count` shards of about equal size."""
    shards: list[list[int]] = [[] for _ in range(count)]
    start, total = 0, sum(sizes)
    for number, size in enumerate(sizes):
        middle_twice = 2 * start + size
        shards[min(count - 1, middle_twice * count // (2 * total))].append(number)
        start += size
    return shards


def _bytes_of(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
