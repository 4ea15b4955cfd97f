"""LLaDA 8B (arXiv 2502.09992): masked diffusion trained from scratch on a Llama-like network, logits unshifted.

The network is Llama's with other names: `ff_proj` is the gate, `attn_out` and `ff_out` the two output matrices.
"""

from collections.abc import Mapping
from typing import Any

from infill_engine.models.base import CanvasModel
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, Description, Shift
from infill_engine.models.stock.loader import Opened, Stock

FIELDS = {
    "hidden_size": "d_model",
    "intermediate_size": "mlp_hidden_size",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "rms_norm_eps": "rms_norm_eps",
    "rope_theta": "rope_theta",
    "max_position_embeddings": "max_sequence_length",
}
TENSORS = {
    "model.embed_tokens": "model.transformer.wte",
    "model.norm": "model.transformer.ln_f",
    "lm_head": "model.transformer.ff_out",
}
LAYER_TENSORS = {
    "self_attn.q_proj": "q_proj",
    "self_attn.k_proj": "k_proj",
    "self_attn.v_proj": "v_proj",
    "self_attn.o_proj": "attn_out",
    "mlp.gate_proj": "ff_proj",
    "mlp.up_proj": "up_proj",
    "mlp.down_proj": "ff_out",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ff_norm",
}
KNOWN = {
    "block_type": ("llama",),
    "activation_type": ("silu",),
    "layer_norm_type": ("rms",),
    "rope": (True,),
    "alibi": (False,),
    "include_bias": (False,),
    "include_qkv_bias": (False, None),
    "attention_layer_norm": (False,),
    "input_emb_norm": (False,),
    "scale_logits": (False,),
    "clip_qkv": (None,),
    "weight_tying": (False,),
}


def fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """Translate LLaDA's config.json to Llama's field names."""
    return {ours: config[theirs] for ours, theirs in FIELDS.items() if theirs in config} | {
        "num_key_value_heads": config.get("n_kv_heads") or config.get("n_heads"),
        "vocab_size": config.get("embedding_size") or config.get("vocab_size"),
        "tie_word_embeddings": False,
    }


def tensor(name: str) -> str:
    """Return the checkpoint's name of a Llama parameter."""
    owner, _, kind = name.rpartition(".")
    if owner in TENSORS:
        return f"{TENSORS[owner]}.{kind}"
    number, _, part = owner.removeprefix("model.layers.").partition(".")
    return f"model.transformer.blocks.{number}.{LAYER_TENSORS[part]}.{kind}"


LLADA = Description(
    name="llada",
    stock=Stock("llama", "Llama", fields, tensor, KNOWN),
    shift=Shift.NONE,
    mask="<|mdm_mask|>",
    end="<|endoftext|>",
    ends=("<|eot_id|>",),
)


def load(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `llada`. Raises ModelError."""
    return BidirectionalModel.load(LLADA, opened)
