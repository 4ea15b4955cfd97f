"""Block diffusion models that were not trained to fill in. Each is refused with a reason.

SDAR (github.com/JetAstra/SDAR, `generate.py`: a block mask of 4, chat models on Qwen3), Fast-dLLM v2 (arXiv 2509.26328:
blocks of 32, Qwen2.5 instruct models tuned on 1B tokens of instructions) and LLaDA 2 (github.com/inclusionAI/LLaDA2.X:
blocks of 32, instruct models on their own mixture of experts). None of their reports mentions fill-in-the-middle, and a
block does not see what comes after it.
"""

from pathlib import Path

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.folder import name_of

MODEL_TYPES = ("sdar", "sdar_moe", "Fast_dLLM_Qwen", "llada2_moe")
INSTEAD = (
    "use a diffusion model that sees both sides (Dream-Coder, DreamOn, DiffuCoder, Open-dCoder, LLaDA, an mdlm "
    "checkpoint of dllm) or one trained to fill in by its prompt (Stable-DiffCoder, Qwen2.5-Coder)"
)


def refusal(folder: Path) -> ModelDamagedError:
    """Return the error that says why a checkpoint of such a family is refused, and what to use instead."""
    return ModelDamagedError(
        f"{name_of(folder)} was trained to write block after block and cannot see the text after a hole; {INSTEAD}"
    )
