"""Writes a run's weights as they are served, in int8 and with smoothed inputs, and reads them back."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from infill_engine.models.trunk.files.formats import pack_rows
from infill_engine.models.trunk.files.shards import Arrays, map_shard, write_shard
from infill_engine.models.trunk.merged import Floats
from infill_engine.models.trunk.sources import ShardsSource
from train.denoiser.run import Run
from train.denoiser.weights import Shape


def export(run: Run, source: ShardsSource, accepted: Sequence[float], path: Path) -> None:
    """Write the denoiser of the trunk in `source`, as `models.trunk.denoiser` describes it.

    `accepted` are, by slot, the shares of right proposals after only right ones, on held-out texts. Inputs are
    smoothed by the factors of the trunk's own matrices.
    """
    weights = {name: tensor.float().cpu().numpy() for name, tensor in run.weights.items()}
    merged, first_layer = source.open(), run.shape.first_layer
    arrays: dict[str, NDArray[Any]] = {name: weights[name] for name in ("mask", "confidence.weight", "confidence.bias")}
    arrays["vocabulary"] = run.vocabulary.cpu().numpy().astype(np.int32)
    arrays["confidence.reached"] = np.cumprod(accepted).astype(np.float32)
    for number in range(first_layer, merged.config.layers):
        layer, name = merged.layer(number), f"layers.{number}"
        factors = merged.weights.read_vector(f"{name}.attention_norm") / layer.attention_norm
        arrays[f"{name}.attention_norm"] = layer.attention_norm
        arrays[f"{name}.bias"] = weights[f"{name}.qkv.bias"]
        arrays |= _packed(f"{name}.qkv", weights[f"{name}.qkv.weight"] * factors)
        arrays |= _packed(f"{name}.out", weights[f"{name}.out.weight"])
        if number == first_layer:
            entry = weights["entry"].reshape(-1, merged.config.dim)
            arrays |= _packed("entry", entry * factors)
    for name in ("markov.before", "markov.after"):
        arrays |= _packed(name, weights[name])
    write_shard(path, arrays, source.made_from())


def restore(path: Path, source: ShardsSource) -> Run:
    """Return a run that begins with the weights that `export` wrote to `path`, rounded as they are there."""
    stored, merged = map_shard(path), source.open()
    numbers = [number for number in range(merged.config.layers) if f"layers.{number}.qkv.codes" in stored]
    weights = {name: stored[name] for name in ("mask", "confidence.weight", "confidence.bias")}
    for number in numbers:
        name = f"layers.{number}"
        factors = merged.weights.read_vector(f"{name}.attention_norm") / merged.layer(number).attention_norm
        weights[f"{name}.qkv.bias"] = stored[f"{name}.bias"]
        weights[f"{name}.qkv.weight"] = _unpacked(stored, f"{name}.qkv") / factors
        weights[f"{name}.out.weight"] = _unpacked(stored, f"{name}.out")
        if number == numbers[0]:
            weights["entry"] = (_unpacked(stored, "entry") / factors).reshape(len(stored["mask"]), *[len(factors)] * 2)
    for name in ("markov.before", "markov.after"):
        weights[name] = _unpacked(stored, name)
    shape = Shape(numbers[0], len(stored["mask"]), weights["markov.after"].shape[1])
    vocabulary = torch.from_numpy(stored["vocabulary"].astype(np.int64))
    return Run.begin(shape, vocabulary, {name: torch.tensor(each) for name, each in weights.items()})


def _packed(name: str, matrix: Floats) -> dict[str, NDArray[Any]]:
    codes, scales = pack_rows(matrix)
    return {f"{name}.codes": codes, f"{name}.scales": scales[:, None]}


def _unpacked(stored: Arrays, name: str) -> Floats:
    unpacked: Floats = stored[f"{name}.codes"].astype(np.float32) * stored[f"{name}.scales"].astype(np.float32)
    return unpacked
