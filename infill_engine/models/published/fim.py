"""Models that fill in by their prompt, of other architectures than the trunk's: their tokens and stock networks.

Stable-DiffCoder (arXiv 2601.15892, huggingface.co/ByteDance-Seed/Stable-DiffCoder-8B-Base) is Seed-Coder, further
trained as masked diffusion in blocks of 4, logits unshifted, with token 5 as mask (its modeling_stable_diffcoder.py;
the network is a stock Llama under a block mask). According to the report, this training used Seed-Coder's own
continued-pretraining data. A tenth of that data was fill-in-the-middle, suffix first (arXiv 2506.03524), so that prompt
is used here as the report prints it. No report says how well the diffusion model follows it.
"""

from collections.abc import Mapping
from typing import Any

from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint.files import require_no_code
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.published.fim_tokens import (
    CODEGEMMA,
    DEEPSEEK_CODER,
    MELLUM,
    PREFIX,
    STARCODER,
    SUFFIX,
    FimTokens,
)
from infill_engine.models.published.kinds.prompted import PromptedModel
from infill_engine.models.stock.loader import Opened, Stock, load_backbone


def gemma_fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """Gemma's config.json says `gelu`, but the models were trained with its tanh approximation."""
    return dict(config) | {"hidden_act": config.get("hidden_activation") or "gelu_pytorch_tanh"}


SILU = {"hidden_act": ("silu",)}
LLAMA = Stock("llama", "Llama", known=SILU)
GEMMA = Stock("gemma", "Gemma", gemma_fields, known={"hidden_activation": (None, "gelu_pytorch_tanh")})
STARCODER2 = Stock("starcoder2", "Starcoder2", known={"hidden_act": ("gelu_pytorch_tanh",)})
FORMATS: Mapping[str, tuple[Stock, tuple[FimTokens, ...]]] = {  # by model type
    "starcoder2": (STARCODER2, (STARCODER,)),
    "llama": (LLAMA, (DEEPSEEK_CODER, MELLUM)),
    "gemma": (GEMMA, (CODEGEMMA,)),
}


def load(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the prompt format whose tokens its tokenizer has. Raises ModelError."""
    checkpoint, vocabulary = opened.checkpoint, opened.vocabulary
    stock, formats = FORMATS[checkpoint.config["model_type"]]
    lacking = {fim.name: [name for name in fim.tokens if vocabulary.id_of(name) is None] for fim in formats}
    fim = next((fim for fim in formats if not lacking[fim.name]), None)
    if fim is None:
        said = "; or ".join(f"{', '.join(names)} ({name})" for name, names in lacking.items())
        raise ModelDamagedError(
            f"{name_of(checkpoint.folder)} cannot fill in: its tokenizer has no {said}. Use a base model trained to "
            "fill in"
        )
    vocabulary.need(fim.end)
    require_no_code(checkpoint.config, checkpoint.folder)
    return PromptedModel(fim, load_backbone(opened, stock), vocabulary, opened.settings)


CLASS = "StableDiffcoderForCausalLM"
MASK, BLOCK = 5, 4
STABLE_DIFFCODER = FimTokens(
    "stable-diffcoder",
    ("<[fim-suffix]>", SUFFIX, "<[fim-prefix]>", PREFIX, "<[fim-middle]>"),
    "<[end▁of▁sentence]>",
)


def load_llama(opened: Opened) -> CanvasModel:
    """Load Stable-DiffCoder if config.json names its class, else a fill-in-the-middle model. Raises ModelError."""
    if CLASS not in (opened.checkpoint.config.get("architectures") or ()):
        return load(opened)
    opened.vocabulary.need(*STABLE_DIFFCODER.tokens, STABLE_DIFFCODER.end)
    backbone = load_backbone(opened, LLAMA)
    return PromptedModel(STABLE_DIFFCODER, backbone, opened.vocabulary, opened.settings, MASK, BLOCK)
