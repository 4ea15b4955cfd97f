"""Models with the model type `llama`: Stable-DiffCoder if config.json names its class, else fill-in-the-middle.

Stable-DiffCoder (arXiv 2601.15892, huggingface.co/ByteDance-Seed/Stable-DiffCoder-8B-Base) is Seed-Coder, further
trained as masked diffusion in blocks of 4, logits unshifted, with token 5 as mask (its modeling_stable_diffcoder.py;
the network is a stock Llama under a block mask). According to the report, this training used Seed-Coder's own
continued-pretraining data. A tenth of that data was fill-in-the-middle, suffix first (arXiv 2506.03524), so that prompt
is used here as the report prints it. No report says how well the diffusion model follows it.
"""

from infill_engine.models.base import CanvasModel
from infill_engine.models.published import fim
from infill_engine.models.published.fim_tokens import PREFIX, SUFFIX, FimTokens
from infill_engine.models.published.kinds.prompted import PromptedModel
from infill_engine.models.stock.loader import Opened, load_backbone

CLASS = "StableDiffcoderForCausalLM"
MASK, BLOCK = 5, 4
STABLE_DIFFCODER = FimTokens(
    "stable-diffcoder",
    ("<[fim-suffix]>", SUFFIX, "<[fim-prefix]>", PREFIX, "<[fim-middle]>"),
    "<[end▁of▁sentence]>",
)


def load(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `llama`. Raises ModelError."""
    if CLASS not in (opened.checkpoint.config.get("architectures") or ()):
        return fim.load(opened)
    opened.vocabulary.need(*STABLE_DIFFCODER.tokens, STABLE_DIFFCODER.end)
    backbone = load_backbone(opened, fim.LLAMA)
    return PromptedModel(STABLE_DIFFCODER, backbone, opened.vocabulary, opened.settings, MASK, BLOCK)
