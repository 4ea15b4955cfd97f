"""Weights as they are computed with, made when a model is first loaded, and the folders in which they are kept.

The adapter is merged in, inputs are smoothed, and every matrix is int8 with one scale for each row:

    layers.{i}.{qkv,out,gate_up,down}.{codes,scales}    int8 [N, K], float16 [N, 1]
    layers.{i}.{bias,attention_norm,mlp_norm}, norm     float32
    embedding.{codes,scales}                            int8 [V, D], float16 [V, 1]
    head.{codes,scales}                                 the same, if the embedding is not the head too

They are kept as part of the graph (`graph_files`). A folder's name has the model's name and a hash of what it was made
from, so a graph of another version or adapter is not used. Models do not disturb each other's folders.
"""

import hashlib
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.checkpoint.folder import CHECKSUMS
from infill_engine.models.runtime.devices import physical_cores
from infill_engine.models.trunk.files.formats import pack_blocks
from infill_engine.models.trunk.files.weights import Packed
from infill_engine.models.trunk.sources import ModelSource
from infill_engine.process import Report

VERSION = 1  # of the contents
GRAPH = ".graph"  # the suffix of a folder with a graph
ABANDONED_SECONDS = 3600  # after which an unfinished folder is deleted
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A folder in the cache, and the name of its model."""

    model: str
    path: Path
    size: int


def prepare(source: ModelSource, report: Report) -> Arrays:
    """Return the prepared weights of a model, which takes seconds to minutes. Raises ModelDamagedError."""
    merged = source.open()
    config, weights = merged.config, merged.weights

    def layer(number: int) -> Arrays:
        read, prefix = merged.layer(number), f"layers.{number}."
        made: Arrays = {prefix + name: getattr(read, name) for name in ("bias", "attention_norm", "mlp_norm")}
        for name in config.joined_shapes:
            matrix = getattr(read, name)
            made |= _packed(prefix + name, pack_blocks(matrix.__getitem__, matrix.shape))
        return made

    arrays: Arrays = {"norm": weights.read_vector("norm")}
    with ThreadPoolExecutor(physical_cores()) as pool:  # each thread holds a layer in float32
        for number, made in enumerate(pool.map(layer, range(config.layers)), 1):
            arrays |= made
            report("preparing the model for this machine, once", 0.1 + 0.7 * number / config.layers)
    arrays |= _packed("embedding", weights.embedding())
    return arrays if config.tied else arrays | _packed("head", weights.head())


def recipe_of(source: ModelSource) -> str:
    """Return a hash of what the weights are made from."""
    return hashlib.sha256(f"{VERSION} {source.made_from()}".encode()).hexdigest()[:24]


def kept_files(cache: Path) -> list[PreparedModel]:
    """Return the prepared models in the cache, by name."""
    paths = sorted(path for path in cache.glob(f"*-*-*{GRAPH}") if _is_finished(path))
    return [PreparedModel(_model_of(path), path, sum(file.stat().st_size for file in path.iterdir())) for path in paths]


def delete(path: Path) -> None:
    """Delete what is kept of a model. Raises OSError."""
    if path.is_dir():
        shutil.rmtree(path)
    else:  # earlier versions kept files
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
    return path.suffix == GRAPH and (path / CHECKSUMS).is_file()


def _model_of(path: Path) -> str:
    return path.stem.rsplit("-", 2)[0]


def _packed(name: str, packed: Packed) -> Arrays:
    codes, scales = packed
    return {f"{name}.codes": codes, f"{name}.scales": scales.astype(np.float16)[:, None]}
