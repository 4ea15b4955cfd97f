"""Stable-DiffCoder in miniature; its reference is a stock Llama's forward pass with an explicit block mask."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bench.families.masked import SHAPE, stock_network
from bench.families.tiny import byte_level, ids_of, special_ids, write

MASK, BLOCK = 5, 4
NAMES = ["<[end▁of▁sentence]>", "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>"]
TOKENIZER = byte_level(NAMES)
END, SUFFIX, PREFIX, MIDDLE = special_ids(TOKENIZER, NAMES)
CONFIG = SHAPE | {
    "model_type": "llama",
    "architectures": ["StableDiffcoderForCausalLM"],
    "auto_map": {"AutoModelForCausalLM": "modeling_stable_diffcoder.StableDiffcoderForCausalLM"},
    "hidden_act": "silu",
}


def new_network() -> nn.Module:
    """Return a random network of the library's class."""
    return stock_network("llama")


def publish(network: nn.Module, folder: Path) -> Path:
    """Write a network in the model's published file layout."""
    return write(folder, CONFIG, network, TOKENIZER)


def prompt_of(text: tuple[str, str]) -> list[int]:
    """Return the prompt's tokens, suffix first."""
    before, behind = (ids_of(TOKENIZER, side) for side in text)
    return [SUFFIX, *behind, PREFIX, *before, MIDDLE]


def own_and_earlier_blocks(length: int) -> Tensor:
    """Return a mask in which every token sees its block and those before it, [1, 1, T, T]."""
    block = torch.arange(length) // BLOCK
    return (block[:, None] >= block)[None, None]


def reference(network: Any, row: list[int], text: tuple[str, str]) -> Tensor:
    """Return logits of every slot of `row`, MASK where it is open; masks pad its last block."""
    prompt = prompt_of(text)
    ids = [*prompt, *row, *[MASK] * (-(len(prompt) + len(row)) % BLOCK)]
    mask = own_and_earlier_blocks(len(ids))
    logits = network(input_ids=torch.tensor([ids]), attention_mask=mask, use_cache=False).logits[0]
    found: Tensor = logits[len(prompt) : len(prompt) + len(row)].float()
    found[:, END] = torch.logsumexp(found[:, [END, SUFFIX, PREFIX, MIDDLE]], -1)  # all of them end a text
    return found
