"""Fill-in-the-middle models of other architectures than the trunk's: their tokens and stock networks."""

from collections.abc import Mapping
from typing import Any

from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.published.fim_tokens import CODEGEMMA, DEEPSEEK_CODER, MELLUM, STARCODER
from infill_engine.models.published.kinds.autoregressive import AutoregressiveModel, Recipe
from infill_engine.models.stock.loader import Opened, Stock


def gemma_fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """Gemma's config.json says `gelu`, but the models were trained with its tanh approximation."""
    return dict(config) | {"hidden_act": config.get("hidden_activation") or "gelu_pytorch_tanh"}


SILU = {"hidden_act": ("silu",)}
LLAMA = Stock("llama", "Llama", known=SILU)
RECIPES = (
    Recipe(STARCODER, ("starcoder2",), Stock("starcoder2", "Starcoder2", known={"hidden_act": ("gelu_pytorch_tanh",)})),
    Recipe(DEEPSEEK_CODER, ("llama",), LLAMA),
    Recipe(
        CODEGEMMA,
        ("gemma",),
        Stock("gemma", "Gemma", gemma_fields, known={"hidden_activation": (None, "gelu_pytorch_tanh")}),
    ),
    Recipe(MELLUM, ("llama",), LLAMA),
)


def load(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the recipe whose tokens its tokenizer has. Raises ModelError."""
    checkpoint, vocabulary = opened.checkpoint, opened.vocabulary
    possible = [recipe for recipe in RECIPES if checkpoint.config["model_type"] in recipe.model_types]
    for recipe in possible:
        if all(vocabulary.id_of(name) is not None for name in recipe.fim.tokens):
            return AutoregressiveModel.load(recipe, opened)
    lacking = "; or ".join(
        f"{', '.join(name for name in recipe.fim.tokens if vocabulary.id_of(name) is None)} ({recipe.fim.name})"
        for recipe in possible
    )
    raise ModelDamagedError(
        f"{name_of(checkpoint.folder)} cannot fill in: its tokenizer has no {lacking}. Use a base model trained to "
        "fill in"
    )
