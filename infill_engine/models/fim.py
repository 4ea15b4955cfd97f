"""The fill-in-the-middle models that infill-ls knows, each by its tokenizer's own tokens.

The order of a prompt is that of the model's training, from its card or report: Qwen2.5-Coder (arXiv 2409.12186),
StarCoder2 (arXiv 2402.19173), DeepSeek-Coder (arXiv 2401.14196), CodeGemma (arXiv 2406.11409) and Mellum
(arXiv 2510.05788), the only one whose suffix comes first.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from infill_engine.errors import ModelDamagedError
from infill_engine.models.autoregressive import PREFIX, SUFFIX, AutoregressiveFamily, Recipe
from infill_engine.models.backbone import Stock
from infill_engine.models.base import ModelFamily
from infill_engine.models.checkpoint import open_checkpoint
from infill_engine.models.vocabulary import TokenizerVocabulary
from infill_engine.settings import ModelSettings


def gemma_fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """Gemma's config.json says `gelu` and was trained with its tanh approximation."""
    return dict(config) | {"hidden_act": config.get("hidden_activation") or "gelu_pytorch_tanh"}


SILU = {"hidden_act": ("silu",)}
LLAMA = Stock("llama", "Llama", known=SILU)
RECIPES = (
    Recipe(
        "qwen2.5-coder",
        ("qwen2",),
        Stock("qwen2", "Qwen2", known=SILU | {"use_sliding_window": (False, None)}),
        ("<|fim_prefix|>", PREFIX, "<|fim_suffix|>", SUFFIX, "<|fim_middle|>"),
        "<|endoftext|>",
        ("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<|im_end|>"),
    ),
    Recipe(
        "starcoder2",
        ("starcoder2",),
        Stock("starcoder2", "Starcoder2", known={"hidden_act": ("gelu_pytorch_tanh",)}),
        ("<fim_prefix>", PREFIX, "<fim_suffix>", SUFFIX, "<fim_middle>"),
        "<|endoftext|>",
        ("<fim_pad>", "<file_sep>", "<repo_name>"),
    ),
    Recipe(
        "deepseek-coder",
        ("llama",),
        LLAMA,
        ("<｜begin▁of▁sentence｜>", "<｜fim▁begin｜>", PREFIX, "<｜fim▁hole｜>", SUFFIX, "<｜fim▁end｜>"),
        "<｜end▁of▁sentence｜>",
        ("<|EOT|>",),
    ),
    Recipe(
        "codegemma",
        ("gemma",),
        Stock("gemma", "Gemma", gemma_fields, known={"hidden_activation": (None, "gelu_pytorch_tanh")}),
        ("<bos>", "<|fim_prefix|>", PREFIX, "<|fim_suffix|>", SUFFIX, "<|fim_middle|>"),
        "<eos>",
        ("<|file_separator|>", "<end_of_turn>"),
    ),
    Recipe(
        "mellum",
        ("llama",),
        LLAMA,
        ("<fim_suffix>", SUFFIX, "<fim_prefix>", PREFIX, "<fim_middle>"),
        "<|endoftext|>",
        ("<fim_pad>", "<filename>", "<reponame>"),
    ),
)


def load(folder: Path, device: str, dtype: torch.dtype, settings: ModelSettings) -> ModelFamily:
    """Loads a checkpoint of the recipe whose tokens its tokenizer has. Raises ModelError."""
    checkpoint = open_checkpoint(folder)
    vocabulary = TokenizerVocabulary(folder / "tokenizer.json", width=checkpoint.width)
    possible = [recipe for recipe in RECIPES if checkpoint.config["model_type"] in recipe.model_types]
    for recipe in possible:
        if all(vocabulary.id_of(name) is not None for name in recipe.tokens):
            return AutoregressiveFamily.load(recipe, checkpoint, vocabulary, device, dtype, settings)
    lacking = "; or ".join(
        f"{', '.join(name for name in recipe.tokens if vocabulary.id_of(name) is None)} ({recipe.name})"
        for recipe in possible
    )
    raise ModelDamagedError(
        f"{folder.name} cannot fill in: its tokenizer has no {lacking}. Use a base model that was trained to fill in"
    )
