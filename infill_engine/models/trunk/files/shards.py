"""Safetensors files that are identical on every machine, and which tensors go into which of them.

The safetensors library may order a file differently from one version to the next, so the files are written here:
wider types first, then by name, with the header padded to eight bytes.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from infill_engine.errors import ModelDamagedError

Arrays = Mapping[str, NDArray[Any]]
BFLOAT16 = np.dtype("<u2")  # numpy has no such type
DTYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "int8": "I8", "uint8": "U8"}
NUMPY_TYPES = {short: np.dtype(name).newbyteorder("<") for name, short in DTYPES.items()} | {"BF16": BFLOAT16}
METADATA = "__metadata__"
RECIPE = "recipe"  # in a shard's metadata: what it was made from and how
PART = ".part"  # the suffix of a file that is being written


def write_shard(path: Path, arrays: Arrays, recipe: str) -> str:
    """Write tensors to a safetensors file, atomically. Returns its SHA-256."""
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))
    header: dict[str, Any] = {METADATA: {"format": "pt", RECIPE: recipe}}
    end = 0
    for name in names:
        start, end = end, end + arrays[name].nbytes
        dtype, shape = DTYPES[str(arrays[name].dtype)], list(arrays[name].shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    unfinished = path.with_name(path.name + PART)
    with unfinished.open("wb+") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name in names:
            file.write(_bytes_of(arrays[name]))
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    unfinished.replace(path)
    return digest


def map_shard(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a whole safetensors file, mapped from disk; bfloat16 as uint16. Changes stay in memory.

    Raises OSError, or KeyError for another type.
    """
    mapped = np.memmap(path, np.uint8, mode="c")
    first = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
    arrays: dict[str, NDArray[Any]] = {}
    for name, about in json.loads(mapped[8:first].tobytes()).items():
        if name != METADATA:
            start, end = (first + offset for offset in about["data_offsets"])
            arrays[name] = np.asarray(mapped[start:end]).view(NUMPY_TYPES[about["dtype"]]).reshape(about["shape"])
    return arrays


def map_made_for(path: Path, made_for: str) -> dict[str, NDArray[Any]] | None:
    """Return the arrays of a file that was made for the model `made_for`; None without the file.

    Raises ModelDamagedError.
    """
    if not path.is_file():
        return None
    if recipe_of(path) != made_for:
        raise ModelDamagedError(f"{path} was made for another model")
    return map_shard(path)


def recipe_of(path: Path) -> str:
    """Return the recipe of a file that `write_shard` wrote; "" without one. Raises ModelDamagedError."""
    try:
        with safe_open(path, framework="np") as file:
            return str((file.metadata() or {}).get(RECIPE, ""))
    except (SafetensorError, OSError) as error:
        raise ModelDamagedError(f"{path} cannot be read ({error})") from error


def write_text(path: Path, text: str) -> None:
    """Write a text file, atomically, with the same line ends on every machine."""
    unfinished = path.with_name(path.name + PART)
    unfinished.write_bytes(text.encode("utf-8"))
    unfinished.replace(path)


def shard_name(number: int, count: int) -> str:
    """Return the file name of a shard, counted from 0."""
    return f"model-{number + 1:05}-of-{count:05}.safetensors"


def split(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Return the part numbers of each of `count` shards of about equal size, for parts of these sizes in bytes."""
    shards: list[list[int]] = [[] for _ in range(count)]
    start, total = 0, sum(sizes)
    for number, size in enumerate(sizes):
        middle_twice = 2 * start + size
        shards[min(count - 1, middle_twice * count // (2 * total))].append(number)
        start += size
    return shards


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """Return the array's bytes, without a copy if they are contiguous."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data
