"""Writes weights of mask rows as they are served, in int8, and reads them back."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.models.trunk.files.formats import pack_rows
from infill_engine.models.trunk.files.shards import Arrays, map_shard, write_shard
from infill_engine.models.trunk.merged import Floats
from train.mask_rows.weights import first_layer_of

if TYPE_CHECKING:
    from infill_engine.models.trunk.sources import ShardsSource

PLAIN = "mask", "confidence.weight", "confidence.bias"
MARKOV = "markov.before", "markov.after"


def export(
    weights: Mapping[str, Tensor], vocabulary: Tensor, source: "ShardsSource", accepted: Sequence[float], path: Path
) -> None:
    """Write the mask rows of the trunk in `source`, as `models.trunk.denoiser` describes them.

    `accepted` are, by slot, the shares of right proposals after only right ones, on held-out texts.
    """
    floats = {name: tensor.float().cpu().numpy() for name, tensor in weights.items()}
    merged = source.open()
    arrays: dict[str, NDArray[Any]] = {name: floats[name] for name in PLAIN}
    arrays["vocabulary"] = vocabulary.cpu().numpy().astype(np.int32)
    arrays["confidence.reached"] = np.cumprod(accepted).astype(np.float32)
    for number in range(first_layer_of(weights), merged.config.layers):
        name = f"layers.{number}"
        arrays[f"{name}.attention_norm"] = merged.layer(number).attention_norm
        arrays[f"{name}.bias"] = floats[f"{name}.qkv.bias"]
        arrays |= _packed(f"{name}.qkv", floats[f"{name}.qkv.weight"])
        arrays |= _packed(f"{name}.out", floats[f"{name}.out.weight"])
    arrays |= _packed("entry", floats["entry"].reshape(-1, merged.config.dim))
    for name in MARKOV:
        arrays |= _packed(name, floats[name])
    write_shard(path, arrays, source.made_from())


def restore(path: Path) -> tuple[dict[str, Tensor], Tensor]:
    """Return the weights that `export` wrote to `path`, rounded as they are there, and the draft vocabulary."""
    stored = map_shard(path)
    weights = {name: stored[name] for name in PLAIN} | {name: _unpacked(stored, name) for name in MARKOV}
    layers = [name.removesuffix(".bias") for name in stored if name.startswith("layers.") and name.endswith(".bias")]
    for name in sorted(layers, key=lambda name: int(name.split(".")[1])):
        weights[f"{name}.qkv.bias"] = stored[f"{name}.bias"]
        weights[f"{name}.qkv.weight"] = _unpacked(stored, f"{name}.qkv")
        weights[f"{name}.out.weight"] = _unpacked(stored, f"{name}.out")
    entry = _unpacked(stored, "entry")
    weights["entry"] = entry.reshape(len(stored["mask"]), *[entry.shape[1]] * 2)
    vocabulary = torch.from_numpy(stored["vocabulary"].astype(np.int64))
    return {name: torch.tensor(each) for name, each in weights.items()}, vocabulary


def _packed(name: str, matrix: Floats) -> dict[str, NDArray[Any]]:
    codes, scales = pack_rows(matrix)
    return {f"{name}.codes": codes, f"{name}.scales": scales[:, None]}


def _unpacked(stored: Arrays, name: str) -> Floats:
    unpacked: Floats = stored[f"{name}.codes"].astype(np.float32) * stored[f"{name}.scales"].astype(np.float32)
    return unpacked
