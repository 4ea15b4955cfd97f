"""The masked-diffusion families in miniature: their published form, and an explicit form of their computation.

A reference is the library's own forward pass over a text in its natural order. It uses nothing of the adapters, whose
shifts, masks and columns are being tested.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

from bench.families.tiny import byte_level, everything, ids_of, write

END, OTHER_END, BEGIN, MASK, GROW = range(FIRST := byte_level([]).get_vocab_size(), FIRST + 5)  # special tokens
SHAPE = {
    "vocab_size": 280,
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 5000.0,
    "tie_word_embeddings": False,
}
STOCK: dict[str, tuple[Any, Any]] = {
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
    "llama": (LlamaConfig, LlamaForCausalLM),
}
LLADA_LAYER = {
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
LLADA = {
    "model.embed_tokens.weight": "model.transformer.wte.weight",
    "model.norm.weight": "model.transformer.ln_f.weight",
    "lm_head.weight": "model.transformer.ff_out.weight",
} | {
    f"model.layers.{layer}.{ours}.weight": f"model.transformer.blocks.{layer}.{theirs}.weight"
    for layer in range(2)
    for ours, theirs in LLADA_LAYER.items()
}
LLADA_CONFIG = {
    "model_type": "llada",
    "architectures": ["LLaDAModelLM"],
    "auto_map": {"AutoModelForCausalLM": "modeling_llada.LLaDAModelLM"},
    "block_type": "llama",
    "activation_type": "silu",
    "layer_norm_type": "rms",
    "rope": True,
    "alibi": False,
    "include_bias": False,
    "include_qkv_bias": False,
    "weight_tying": False,
    "d_model": 48,
    "mlp_hidden_size": 96,
    "n_layers": 2,
    "n_heads": 4,
    "n_kv_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 5000.0,
    "max_sequence_length": 4096,
    "vocab_size": 280,
    "embedding_size": 280,
    "mask_token_id": MASK,
}
QWEN_NAMES = ["<|endoftext|>", "<|im_end|>", "<|beginoftext|>", "<|mask|>"]


@dataclass(frozen=True)
class Published:
    """A masked-diffusion family's published form, in miniature, and its computation: shift, frame, ends."""

    stock: str
    shift: int
    names: list[str]  # of special tokens; the fourth is the mask
    config: dict[str, Any]
    framed: bool = False
    mask_token: str = ""

    @property
    def tokenizer(self) -> Tokenizer:
        return byte_level(self.names)


def _qwen_config(model_type: str, **more: Any) -> dict[str, Any]:
    return SHAPE | {"model_type": model_type, "hidden_act": "silu", "use_sliding_window": False} | more


DREAM = {"auto_map": {"AutoModel": "modeling_dream.DreamModel"}, "mask_token_id": MASK}
PUBLISHED = {
    "dream": Published("qwen2", 1, [*QWEN_NAMES, "<|extra|>"], _qwen_config("Dream", **DREAM)),
    "dreamon": Published("qwen2", 1, [*QWEN_NAMES, "<|expand|>"], _qwen_config("Dream", **DREAM), framed=True),
    "open-dcoder": Published(
        "qwen2", 1, [*QWEN_NAMES[:3], "<M>", "<|extra|>"], _qwen_config("qwen2"), mask_token="<M>"
    ),
    "a2d-qwen2": Published("qwen2", 0, [*QWEN_NAMES, "<|extra|>"], _qwen_config("a2d-qwen2")),
    "a2d-qwen3": Published("qwen3", 0, [*QWEN_NAMES, "<|extra|>"], _qwen_config("a2d-qwen3", head_dim=16)),
    "a2d-llama": Published("llama", 0, [*QWEN_NAMES, "<|extra|>"], _qwen_config("a2d-llama")),
    "llada": Published(
        "llama", 0, ["<|endoftext|>", "<|eot_id|>", "<|startoftext|>", "<|mdm_mask|>", "<|extra|>"], LLADA_CONFIG
    ),
}


def stock_network(stock: str, **more: Any) -> nn.Module:
    """Return a random network of the library's class, with the shape `SHAPE`, overridden by `more`."""
    config_class, network_class = STOCK[stock]
    torch.manual_seed(0)
    size = {"head_dim": 16} if stock == "qwen3" else {}
    network: nn.Module = network_class(config_class(**(SHAPE | size | {"initializer_range": 0.2} | more)))
    return network.eval().requires_grad_(False)


def publish(name: str, network: nn.Module, folder: Path) -> Path:
    """Write a network as a family's checkpoint, in the family's own file layout."""
    about = PUBLISHED[name]
    tensors = network.state_dict()
    if about.config is LLADA_CONFIG:
        tensors = {LLADA[tensor]: value for tensor, value in tensors.items()}
    write(folder, about.config, tensors, about.tokenizer)
    if about.mask_token:
        (folder / "tokenizer_config.json").write_text(f'{{"mask_token": "{about.mask_token}"}}')
    return folder


def reference(name: str, network: Any, row: list[int], text: tuple[str, str]) -> Tensor:
    """Logits of every slot of `row`, MASK where it is open: the library's forward pass with explicit mask and shift."""
    about = PUBLISHED[name]
    before, behind = (ids_of(about.tokenizer, side) for side in text)
    if about.framed:
        before, behind = [BEGIN, *before], [*behind, END]
    ids = torch.tensor([[*before, *row, *behind]])
    logits = network(input_ids=ids, attention_mask=everything(ids), use_cache=False).logits[0]
    start = len(before) - about.shift
    found: Tensor = logits[start : start + len(row)].float()
    found[:, END] = torch.logsumexp(found[:, [END, OTHER_END]], -1)  # both end a text
    return found
