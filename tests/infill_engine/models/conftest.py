"""Checkpoints of the published families in miniature: some random, some that have learnt the toy language."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny import byte_level, write
from tokenizers import Tokenizer
from torch import nn
from toy import Frame, learn_to_fill
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM, Qwen3Config, Qwen3ForCausalLM

torch.set_num_threads(1)  # tiny matrices: a second thread would only wait

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
STOCK = {
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
    """How a masked-diffusion family is published, in miniature, and what it computes: shift, frame, ends."""

    stock: str
    shift: int
    names: list[str]  # of special tokens, the mask the fourth
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
    "llada": Published(
        "llama", 0, ["<|endoftext|>", "<|eot_id|>", "<|startoftext|>", "<|mdm_mask|>", "<|extra|>"], LLADA_CONFIG
    ),
}


def stock_network(stock: str, **more: Any) -> nn.Module:
    config_class, network_class = STOCK[stock]
    torch.manual_seed(0)
    size = {"head_dim": 16} if stock == "qwen3" else {}
    network = network_class(config_class(**(SHAPE | size | {"initializer_range": 0.2} | more)))
    return network.eval().requires_grad_(False)


@lru_cache
def trained(stock: str, shift: int) -> nn.Module:
    """A network that has learnt the toy language."""
    network = stock_network(stock).requires_grad_(True)
    learn_to_fill(network, byte_level(["<a>", "<b>", "<c>", "<d>", "<e>"]), (FRAME, BARE), shift)
    return network


BARE = Frame(mask=MASK, end=END, grow=GROW)
FRAME = Frame(mask=MASK, end=END, grow=GROW, begin=(BEGIN,), close=(END,))

Publish = Callable[[str, nn.Module], Path]


@pytest.fixture(scope="session")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Publish:
    """Writes a network as a family's checkpoint, in the family's own file layout."""

    def written(name: str, network: nn.Module) -> Path:
        about = PUBLISHED[name]
        tensors = network.state_dict()
        if about.config is LLADA_CONFIG:
            tensors = {LLADA[tensor]: value for tensor, value in tensors.items()}
        folder = write(tmp_path_factory.mktemp(name) / name, about.config, tensors, about.tokenizer)
        if about.mask_token:
            (folder / "tokenizer_config.json").write_text(f'{{"mask_token": "{about.mask_token}"}}')
        return folder

    return written
