"""The fill-in-the-middle families in miniature: their published form, and an explicit form of their computation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import (
    GemmaConfig,
    GemmaForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    Starcoder2Config,
    Starcoder2ForCausalLM,
)

from bench.families.masked import SHAPE
from bench.families.tiny import backwards_only, byte_level, ids_of, pieces, special_ids, write

ACTIVATIONS = {"gemma": "gelu", "starcoder2": "gelu_pytorch_tanh"}


@dataclass(frozen=True)
class Published:
    """A family's published form, in miniature; `prompt` is the order of its tokens.

    S is the text on the right. P is all text on the left, or the lines above if L, the cursor's line so far, follows.

    `names` are its special tokens, `unmarked` those that its files do not mark as special; `ends` end a text.
    """

    config: Any
    network: Any
    model_type: str
    names: list[str]
    unmarked: list[str]
    prompt: tuple[str, ...]
    end: str
    more: dict[str, Any]

    @property
    def tokenizer(self) -> Tokenizer:
        make = pieces if self.model_type == "gemma" else byte_level
        return make(self.names, self.unmarked)

    @property
    def ends(self) -> list[str]:
        """All tokens that end a text: also those of the prompt, and all others that separate texts in training."""
        return [name for name in (*self.names, *self.unmarked) if name not in OTHERS]

    def ids(self, tokenizer: Tokenizer, before: str, behind: str) -> list[int]:
        """Return the prompt's tokens."""
        start = before.rfind("\n") + 1 if "L" in self.prompt else len(before)
        sides = {"P": before[:start], "S": behind, "L": before[start:]}
        found: list[int] = []
        for part in self.prompt:
            found += ids_of(tokenizer, sides[part]) if part in sides else special_ids(tokenizer, [part])
        return found


OTHERS = ("<pad>", "<table>")  # tokens that do not end a text
PUBLISHED = {
    "starcoder2": Published(
        Starcoder2Config,
        Starcoder2ForCausalLM,
        "starcoder2",
        ["<|endoftext|>", "<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<file_sep>"],
        [],
        ("<fim_prefix>", "P", "<fim_suffix>", "S", "<fim_middle>", "L"),
        "<|endoftext|>",
        {"sliding_window": 4096, "tie_word_embeddings": True},
    ),
    "deepseek-coder": Published(
        LlamaConfig,
        LlamaForCausalLM,
        "llama",
        ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<|EOT|>"],
        ["<｜fim▁hole｜>", "<｜fim▁begin｜>", "<｜fim▁end｜>"],
        ("<｜begin▁of▁sentence｜>", "<｜fim▁begin｜>", "P", "<｜fim▁hole｜>", "S", "<｜fim▁end｜>", "L"),
        "<｜end▁of▁sentence｜>",
        {"rope_scaling": {"type": "linear", "factor": 4.0}},
    ),
    "codegemma": Published(
        GemmaConfig,
        GemmaForCausalLM,
        "gemma",
        ["<pad>", "<eos>", "<bos>"],
        ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>", "<table>"],
        ("<bos>", "<|fim_prefix|>", "P", "<|fim_suffix|>", "S", "<|fim_middle|>", "L"),
        "<eos>",
        {"vocab_size": 400, "head_dim": 16, "tie_word_embeddings": True},
    ),
    "mellum": Published(
        LlamaConfig,
        LlamaForCausalLM,
        "llama",
        ["<|endoftext|>", "<fim_suffix>", "<fim_prefix>", "<fim_middle>", "<filename>"],
        [],
        ("<fim_suffix>", "S", "<fim_prefix>", "P", "<fim_middle>"),
        "<|endoftext|>",
        {},
    ),
}


def new_network(name: str) -> nn.Module:
    """Return a random network of the library's class."""
    about = PUBLISHED[name]
    torch.manual_seed(0)
    network: nn.Module = about.network(about.config(**(SHAPE | {"initializer_range": 0.2} | about.more)))
    return network.eval()


def publish(name: str, network: nn.Module, folder: Path) -> Path:
    """Write a network as a family's checkpoint, in the family's own file layout."""
    about = PUBLISHED[name]
    activation = {"hidden_act": ACTIVATIONS.get(about.model_type, "silu")}
    return write(folder, SHAPE | about.more | {"model_type": about.model_type} | activation, network, about.tokenizer)


def reference(name: str, network: Any, row: list[int], text: tuple[str, str]) -> Tensor:
    """Return logits of every slot of `row`: the library's causal forward pass over the explicit prompt and the row."""
    about, tokenizer = PUBLISHED[name], PUBLISHED[name].tokenizer
    prompt = about.ids(tokenizer, *text)
    ids = torch.tensor([[*prompt, *row]])
    logits = network(input_ids=ids, attention_mask=backwards_only(ids), use_cache=False).logits[0]
    found: Tensor = logits[len(prompt) - 1 : -1].float()
    (end,) = special_ids(tokenizer, [about.end])
    found[:, end] = torch.logsumexp(found[:, special_ids(tokenizer, about.ends)], -1)
    return found
