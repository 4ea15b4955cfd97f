"""Weights as they are computed with, prepared once and kept in the user's cache.

The adapter is merged in, inputs are smoothed, and every matrix is int8 with one scale for each row. A file's name has
the model's name, a hash of what it was made from, and the checksum of its contents. So a file of another version or
adapter is not used, and a damaged one is made again. Models do not disturb each other's files. Where OpenVINO computes,
the folder of `graph_files` takes the place of a model's file.

    layers.{i}.{qkv,out,gate_up,down}.{codes,scales}    int8 [N, K], float16 [N, 1]
    layers.{i}.{bias,attention_norm,mlp_norm}, norm     float32
    embedding.{codes,scales}                            int8 [V, D], float16 [V, 1]
    head.{codes,scales}                                 the same, if the embedding is not the head too
"""

import hashlib
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from time import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.folder import CHECKSUMS, sha256_of
from infill_engine.models.runtime.devices import physical_cores
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.formats import pack_blocks
from infill_engine.models.trunk.files.shards import ShardLayout, map_shard, write_parts
from infill_engine.models.trunk.files.weights import Packed
from infill_engine.models.trunk.merged import MergedWeights
from infill_engine.models.trunk.sources import ModelSource
from infill_engine.process import Report

VERSION = 1  # of the contents
SUFFIX = ".safetensors"
GRAPH = ".graph"  # the suffix of a folder with a graph
ABANDONED_SECONDS = 3600  # after which an unfinished file is deleted
MATRICES = ("qkv", "out", "gate_up", "down")
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model's arrays by name; `note` says why they could not be kept for the next start, "" if they were."""

    config: TrunkConfig
    arrays: Arrays
    note: str = ""


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A file or a folder in the cache, and the name of its model."""

    model: str
    path: Path
    size: int


def load_prepared(source: ModelSource, cache: Path, report: Report) -> Prepared:
    """Return the prepared weights of a model. Raises ModelDamagedError.

    They come from the folder `cache`, or are made and kept there, which takes seconds to minutes. Damaged ones are made
    again.
    """
    path = _intact(cache, f"{source.name}-{recipe_of(source)}")
    if path is not None:
        return Prepared(source.config, map_shard(path))
    merged = source.open()
    try:
        return Prepared(source.config, map_shard(_keep(cache, source.name, recipe_of(source), merged, report)))
    except OSError as error:
        note = f"The prepared model cannot be kept in {cache} ({error.strerror}), so every start takes longer."
        arrays = {name: array for part in _prepare(merged, report) for name, array in part.items()}
        return Prepared(source.config, arrays, note)


def recipe_of(source: ModelSource) -> str:
    """Return a hash of what the weights are made from."""
    return hashlib.sha256(f"{VERSION} {source.made_from()}".encode()).hexdigest()[:24]


def kept_files(cache: Path) -> list[PreparedModel]:
    """Return the prepared models in the cache, by name."""
    paths = sorted(path for path in cache.glob("*-*-*") if _is_finished(path))
    return [
        PreparedModel(_model_of(path), path, sum(file.stat().st_size for file in _files_of(path))) for path in paths
    ]


def delete(path: Path) -> None:
    """Delete what is kept of a model. Raises OSError."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


def replace_others(cache: Path, path: Path) -> None:
    """Delete what else is kept of a model, and what was never finished."""
    for other in cache.iterdir():
        with suppress(OSError):  # on Windows, another process may have mapped it
            finished = _is_finished(other)
            abandoned = not finished and time() - other.stat().st_mtime > ABANDONED_SECONDS
            if abandoned or (finished and other != path and _model_of(other) == _model_of(path)):
                delete(other)


def _is_finished(path: Path) -> bool:
    return path.suffix == SUFFIX or (path.suffix == GRAPH and (path / CHECKSUMS).is_file())


def _model_of(path: Path) -> str:
    return path.stem.rsplit("-", 2)[0]


def _files_of(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() else [path]


def _intact(cache: Path, start: str) -> Path | None:
    """Return the file whose name begins with `start`, if there is one; a damaged one is deleted."""
    for path in cache.glob(f"{start}-*{SUFFIX}"):
        with suppress(OSError, ModelDamagedError):
            if path.stem == f"{start}-{sha256_of(path)}":
                return path
            path.unlink()
    return None


def _keep(cache: Path, name: str, recipe: str, merged: MergedWeights, report: Report) -> Path:
    """Prepare the weights and write them, in place of the model's files of other recipes. Raises OSError."""
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = cache / f"{os.getpid()}-{get_ident()}.unfinished"  # two engines may prepare at once
    try:
        digest = write_parts(unfinished, _layout(merged.config), _prepare(merged, report), recipe)
        path = cache / f"{name}-{recipe}-{digest}{SUFFIX}"
        unfinished.replace(path)
    finally:
        for each in cache.glob(f"{unfinished.name}*"):
            each.unlink()
    replace_others(cache, path)
    return path


def _prepare(merged: MergedWeights, report: Report) -> Iterator[Arrays]:
    """Yield the arrays, a layer at a time, so that only a few layers of a large model are in memory."""
    config, weights = merged.config, merged.weights

    def layer(number: int) -> Arrays:
        read, prefix = merged.layer(number), f"layers.{number}."
        arrays: Arrays = {prefix + name: getattr(read, name) for name in ("bias", "attention_norm", "mlp_norm")}
        for name in MATRICES:
            matrix = getattr(read, name)
            arrays |= _packed(prefix + name, pack_blocks(matrix.__getitem__, matrix.shape))
        return arrays

    yield {"norm": weights.read_vector("norm")}
    with ThreadPoolExecutor(physical_cores()) as pool:
        made = _in_order(pool, layer, config.layers)
        for number in range(config.layers):
            yield next(made)
            report("preparing the model for this machine, once", 0.1 + 0.7 * (number + 1) / config.layers)
    yield _packed("embedding", weights.embedding())
    if not config.tied:
        yield _packed("head", weights.head())


def _in_order(pool: ThreadPoolExecutor, make: Callable[[int], Arrays], count: int) -> Iterator[Arrays]:
    """Yield `make` of each number below `count`, in order, and make no more at once than there are threads."""
    waiting: deque[Future[Arrays]] = deque()
    for number in range(count):
        waiting.append(pool.submit(make, number))
        if len(waiting) == physical_cores():
            yield waiting.popleft().result()
    for each in waiting:
        yield each.result()


def _packed(name: str, packed: Packed) -> Arrays:
    codes, scales = packed
    return {f"{name}.codes": codes, f"{name}.scales": scales.astype(np.float16)[:, None]}


def _layout(config: TrunkConfig) -> ShardLayout:
    """Return the types and shapes of all arrays."""
    int8, float16, float32 = np.dtype(np.int8), np.dtype(np.float16), np.dtype(np.float32)
    found: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {"norm": (float32, (config.dim,))}
    shapes = config.joined_shapes
    matrices = {f"layers.{layer}.{name}": shape for layer in range(config.layers) for name, shape in shapes.items()}
    matrices |= dict.fromkeys(("embedding", "head")[: 2 - config.tied], (config.vocabulary, config.dim))
    for name, (rows, columns) in matrices.items():
        found[f"{name}.codes"], found[f"{name}.scales"] = (int8, (rows, columns)), (float16, (rows, 1))
    for layer in range(config.layers):
        prefix = f"layers.{layer}."
        found[f"{prefix}bias"] = (float32, shapes["qkv"][:1])
        found |= {f"{prefix}{norm}_norm": (float32, (config.dim,)) for norm in ("attention", "mlp")}
    return found
