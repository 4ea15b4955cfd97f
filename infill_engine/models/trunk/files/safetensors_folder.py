"""A folder with a Qwen2 checkpoint in safetensors, as the transformers library writes it. Does not import torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.files import (
    REMEDY,
    require_no_code,
    require_positive,
    require_values,
    shapes_in,
    weight_files,
)
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.formats import Floats
from infill_engine.models.trunk.files.named_weights import EMBEDDING, HEAD, NamedWeights
from infill_engine.models.trunk.files.shards import BFLOAT16, map_shard

SIZES = {
    "vocabulary": "vocab_size",
    "layers": "num_hidden_layers",
    "dim": "hidden_size",
    "heads": "num_attention_heads",
    "kv_heads": "num_key_value_heads",
    "hidden": "intermediate_size",
}
KNOWN = {"hidden_act": ("silu",), "use_sliding_window": (False, None), "rope_scaling": (None,)}
PLACES = dict.fromkeys("qkvo", "self_attn") | dict.fromkeys(("gate", "up", "down"), "mlp")
NAMES = {
    **{name: f"model.layers.{{}}.{place}.{name}_proj.weight" for name, place in PLACES.items()},
    **{f"{name}.bias": f"model.layers.{{}}.self_attn.{name}_proj.bias" for name in "qkv"},
    "attention_norm": "model.layers.{}.input_layernorm.weight",
    "mlp_norm": "model.layers.{}.post_attention_layernorm.weight",
    "norm": "model.norm.weight",
    EMBEDDING: "model.embed_tokens.weight",
    HEAD: "lm_head.weight",
}


def config_of(config: Mapping[str, Any], folder: Path) -> TrunkConfig:
    """Return the sizes of a checkpoint with this config.json. Raises ModelDamagedError if it is not a stock Qwen2."""
    require_no_code(config, folder)
    require_values(config, folder, KNOWN)
    require_positive(config, folder, SIZES.values())
    rope = config.get("rope_parameters") or {}
    require_values(rope, folder, {"rope_type": ("default",)})
    sizes = {name: config[theirs] for name, theirs in SIZES.items()}
    return TrunkConfig(
        **sizes,
        head_dim=config.get("head_dim") or sizes["dim"] // sizes["heads"],
        rope_theta=float(config.get("rope_theta") or rope.get("rope_theta") or 1e6),
        norm_epsilon=float(config.get("rms_norm_eps", 1e-6)),
        tied=bool(config.get("tie_word_embeddings", False)),
    )


def open_safetensors(folder: Path, config: TrunkConfig) -> NamedWeights:
    """Return the weights of a checkpoint; tensors stay on disk until they are read. Raises ModelDamagedError."""
    tensors: dict[str, NDArray[Any]] = {}
    for path in weight_files(folder):
        shapes_in(path)
        try:
            tensors |= map_shard(path)
        except KeyError as error:
            raise ModelDamagedError(f"{path} has tensors of the unknown type {error}; {REMEDY}") from error
    if config.layers > len(tensors):
        raise ModelDamagedError(f"{folder} has tensors for fewer than its {config.layers} layers; {REMEDY}")

    def read(name: str, rows: slice) -> Floats:
        if name not in tensors:
            raise ModelDamagedError(f"{folder} has no tensor {name}; {REMEDY}")
        found = tensors[name][rows]
        if found.dtype == BFLOAT16:
            return (found.astype("<u4") << 16).view(np.float32)
        return found.astype(np.float32)

    return NamedWeights(config, NAMES, read, folder)
