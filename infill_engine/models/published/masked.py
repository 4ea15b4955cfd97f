"""The families of masked diffusion, and those that are refused.

Dream, Dream-Coder, DiffuCoder, DreamOn and Open-dCoder are made from Qwen2.5, with logits shifted right. DreamOn
(huggingface.co/Dream-org/DreamOn-v0-7B) is recognised by its `<|expand|>` token. It changes the hole's length while
filling it: that token splits one mask into two, and the end-of-text token deletes its slot. Its prompts begin with the
tokenizer's `<|beginoftext|>` and close with the end of text; the other models have no such frame. Open-dCoder
(huggingface.co/fredzzp/open-dcoder-0.5B) is Qwen2.5-Coder, with the model type `qwen2`. Only the mask token tells its
checkpoint apart; without one it is a model of the trunk's architecture (`trunk.sources`).

dllm's a2d models (github.com/ZHZisZZ/dllm) are Qwen2, Qwen3 and Llama, logits unshifted. Checkpoints trained with full
attention (mdlm) and block by block (bd3lm) share one model type; only their names tell them apart. A bd3lm checkpoint
cannot see the right side of a hole from within a block.

LLaDA 8B (arXiv 2502.09992) was trained from scratch on a Llama-like network, logits unshifted. The network is Llama's
with other names: `ff_proj` is the gate, `attn_out` and `ff_out` the two output matrices.

Refused are block diffusion models that were not trained to fill in: SDAR (github.com/JetAstra/SDAR, `generate.py`: a
block mask of 4, chat models on Qwen3), Fast-dLLM v2 (arXiv 2509.26328: blocks of 32, Qwen2.5 instruct models tuned on
1B tokens of instructions) and LLaDA 2 (github.com/inclusionAI/LLaDA2.X: blocks of 32, instruct models on their own
mixture of experts). None of their reports mentions fill-in-the-middle, and a block does not see what comes after it.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, Description, LogitShift
from infill_engine.models.stock.loader import Opened, Stock
from infill_engine.models.tokenizer import mask_name

QWEN_KNOWN = {"hidden_act": ("silu",), "use_sliding_window": (False, None)}
QWEN2 = Stock("qwen2", "Qwen2", known=QWEN_KNOWN)
DREAM = Description(
    name="dream",
    stock=QWEN2,
    shift=LogitShift.RIGHT,
    mask="<|mask|>",
    end="<|endoftext|>",
    ends=("<|im_end|>",),
)
DREAMON = replace(DREAM, name="dreamon", begin="<|beginoftext|>", close="<|endoftext|>", expand="<|expand|>")


def load_dream(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `Dream`; its tokens tell DreamOn apart. Raises ModelError."""
    description = DREAM if opened.vocabulary.id_of(DREAMON.expand) is None else DREAMON
    return BidirectionalModel.load(description, opened)


def load_open_dcoder(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `qwen2`, and a tokenizer with a mask. Raises ModelError."""
    mask = mask_name(opened.checkpoint.folder)
    return BidirectionalModel.load(replace(DREAM, name="open-dcoder", mask=mask), opened)


STOCKS = {
    "a2d-qwen2": QWEN2,
    "a2d-qwen3": Stock("qwen3", "Qwen3", known=QWEN_KNOWN),
    "a2d-llama": Stock("llama", "Llama", known=QWEN_KNOWN),
}
ENDS = ("<|endoftext|>", "<|end_of_text|>")  # Qwen's and Llama's


def load_a2d(opened: Opened) -> CanvasModel:
    """Load a checkpoint with one of the model types of `STOCKS`. Raises ModelError."""
    folder, config = opened.checkpoint.folder, opened.checkpoint.config
    if "bd3lm" in f"{name_of(folder)} {config.get('_name_or_path', '')}".lower():
        raise refusal(folder)
    model_type = config["model_type"]
    end = next((name for name in ENDS if opened.vocabulary.id_of(name) is not None), ENDS[0])
    description = Description(
        model_type, STOCKS[model_type], LogitShift.NONE, mask="<|mask|>", end=end, ends=("<|im_end|>", "<|eot_id|>")
    )
    return BidirectionalModel.load(description, opened)


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
    shift=LogitShift.NONE,
    mask="<|mdm_mask|>",
    end="<|endoftext|>",
    ends=("<|eot_id|>",),
)


def load_llada(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `llada`. Raises ModelError."""
    return BidirectionalModel.load(LLADA, opened)


REFUSED = ("sdar", "sdar_moe", "Fast_dLLM_Qwen", "llada2_moe")
INSTEAD = (
    "use a diffusion model that sees both sides (Dream-Coder, DreamOn, DiffuCoder, Open-dCoder, LLaDA, an mdlm "
    "checkpoint of dllm) or one trained to fill in by its prompt (Stable-DiffCoder, Qwen2.5-Coder)"
)


def refusal(folder: Path) -> ModelDamagedError:
    """Return the error that says why a checkpoint of such a family is refused, and what to use instead."""
    return ModelDamagedError(
        f"{name_of(folder)} was trained to write block after block and cannot see the text after a hole; {INSTEAD}"
    )
