"""The trunk's weights as the compiled graph reads them, prepared once and mapped from the user's cache afterwards.

The adapter is merged in, inputs are smoothed, and every matrix is int8 with one scale for each row. A file's name has a
hash of what it was made from and the checksum of its contents, so a file of another version or adapter is not used, and
a damaged one is made again.

    layers.{i}.{qkv,out,gate_up,down}.{codes,scales}    int8 [N, K], float16 [N, 1]
    layers.{i}.{bias,attention_norm,mlp_norm}, norm     float32
    embedding.{codes,scales}                            the head too: int8 [V, D], float16 [V, 1]
"""

import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import get_ident
from time import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.checkpoint.files import read_config
from infill_engine.models.checkpoint.folder import read_checksums, sha256_of
from infill_engine.models.runtime.devices import physical_cores
from infill_engine.models.trunk.adapter import ADAPTER, Adapter
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.formats import pack_rows
from infill_engine.models.trunk.files.shards import map_shard, write_shard
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.merged import merged_layer
from infill_engine.models.trunk.smoothing import IMPORTANCE, Smoothing

VERSION = 1  # of the contents
ABANDONED_SECONDS = 3600  # after which an unfinished file is deleted
MATRICES = ("qkv", "out", "gate_up", "down")
Report = Callable[[str, float], None]  # the current task, and the share of it that is done
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trunk's arrays by name; `note` says why they could not be kept for the next start, "" if they were."""

    config: TrunkConfig
    arrays: Arrays
    note: str = ""


def load_prepared(folder: Path, trained: Path, cache: Path, report: Report) -> Prepared:
    """Return the prepared weights of the trunk in `folder` with the adapter in `trained`. Raises ModelDamagedError.

    They come from the folder `cache`, or are made and kept there, which takes some seconds.
    """
    recipe = _recipe(folder, trained)
    config = TrunkConfig.from_json(read_config(folder))
    if (path := _intact(cache, recipe)) is not None:
        return Prepared(config, map_shard(path))
    weights = TrunkWeights(folder)
    arrays = _prepare(weights, Adapter.load(trained), Smoothing.load(folder), report)
    try:
        return Prepared(config, map_shard(_keep(cache, recipe, arrays)))
    except OSError as error:
        note = f"The prepared model cannot be kept in {cache} ({error.strerror}), so every start takes longer."
        return Prepared(config, arrays, note)


def _recipe(folder: Path, trained: Path) -> str:
    """Return a hash of everything that determines the contents."""
    files = [path for path in (trained / ADAPTER, folder / IMPORTANCE) if path.is_file()]
    made_from = {"version": VERSION, "shards": read_checksums(folder), "files": [sha256_of(path) for path in files]}
    return hashlib.sha256(json.dumps(made_from, sort_keys=True).encode("ascii")).hexdigest()[:24]


def _intact(cache: Path, recipe: str) -> Path | None:
    """Return the file made by this recipe, if there is one; a damaged one is deleted."""
    for path in cache.glob(f"{recipe}-*.safetensors"):
        with suppress(OSError):
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if path.stem == f"{recipe}-{digest}":
                return path
            path.unlink()
    return None


def _keep(cache: Path, recipe: str, arrays: Arrays) -> Path:
    """Write the arrays, in place of those of other recipes. Raises OSError."""
    cache.mkdir(parents=True, exist_ok=True)
    unfinished = cache / f"{os.getpid()}-{get_ident()}.unfinished"  # two engines may prepare at once
    try:
        digest = write_shard(unfinished, arrays, recipe)
        path = cache / f"{recipe}-{digest}.safetensors"
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    for other in cache.iterdir():
        with suppress(OSError):  # on Windows, another process may have mapped it
            abandoned = other.suffix != path.suffix and time() - other.stat().st_mtime > ABANDONED_SECONDS
            if abandoned or (other.suffix == path.suffix and other != path):
                other.unlink()
    return path


def _prepare(weights: TrunkWeights, adapter: Adapter, smoothing: Smoothing, report: Report) -> Arrays:
    def layer(number: int) -> Arrays:
        merged, prefix = merged_layer(weights, adapter, smoothing, number), f"layers.{number}."
        arrays: Arrays = {prefix + name: getattr(merged, name) for name in ("bias", "attention_norm", "mlp_norm")}
        for name in MATRICES:
            arrays |= _packed(prefix + name, *pack_rows(getattr(merged, name)))
        return arrays

    arrays: Arrays = {"norm": weights.read_vector("norm")}
    with ThreadPoolExecutor(physical_cores()) as pool:
        embedding = pool.submit(weights.embedding)
        for number, made in enumerate(pool.map(layer, range(weights.config.layers)), 1):
            arrays |= made
            report("preparing the model for this machine, once", 0.1 + 0.8 * number / weights.config.layers)
        codes, scales = embedding.result()
    return arrays | _packed("embedding", codes, scales.astype(np.float16))


def _packed(name: str, codes: NDArray[np.int8], scales: NDArray[np.float16]) -> Arrays:
    return {f"{name}.codes": codes, f"{name}.scales": scales[:, None]}
