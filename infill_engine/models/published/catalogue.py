"""Facts about the supported families, for choosing a model before downloading one. Needs no torch.

Sizes are parameter counts from the published configurations. Scores are from the cited sources, on the single-line part
of HumanEval-Infilling, pass@1 in percent; none was measured here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

GROUP_BYTES = 4 / 64  # one 16-bit scale and one 16-bit minimum per 64 weights
BYTES = {"bf16": 2.0, "int8": 1.0, "int4": 0.5 + GROUP_BYTES}  # per weight of a matrix; other weights take 2

APACHE, GEMMA = "Apache-2.0", "Gemma terms of use"
OPEN_DLLM = "Open-dLLM's evaluation, github.com/pengzhangzhi/Open-dLLM"
CODEGEMMA = "CodeGemma report, arXiv 2406.11409"


class Sight(StrEnum):
    """How a family sees the text after the hole, and whether what it computed for both sides is kept."""

    BOTH = "both sides natively; every step computes them"
    PROMPT = "suffix in the prompt; what was read is kept"
    ORDER = "left to right, suffix in the prompt (FIM); what was read is kept"


@dataclass(frozen=True, slots=True)
class Published:
    """A checkpoint: its name, licence and size. `kept` is the number of parameters not quantised, the embeddings.

    Both counts are in billions. `score` is in percent, with its `source`.
    """

    name: str
    licence: str
    billions: float
    kept: float
    score: float | None = None
    source: str = ""
    note: str = ""

    def gigabytes(self, precision: str) -> float:
        """Compute the memory of the weights."""
        return self.kept * 2 + (self.billions - self.kept) * BYTES[precision]


@dataclass(frozen=True, slots=True)
class Family:
    """A family: the `model_type`s of its checkpoints and its capabilities."""

    name: str
    model_types: tuple[str, ...]
    sight: Sight
    examples: tuple[Published, ...]


QWEN_7B = 0.545  # billions: 152,064 embeddings of 3,584

CATALOGUE = (
    Family(
        "dream",
        ("Dream", "dream"),
        Sight.BOTH,
        (
            Published("Dream-org/Dream-Coder-v0-Base-7B", APACHE, 7.62, QWEN_7B, 55.3, OPEN_DLLM),
            Published("apple/DiffuCoder-7B-Base", "apple-amlr", 7.62, QWEN_7B, 54.8, OPEN_DLLM),
        ),
    ),
    Family(
        "dreamon",
        ("Dream", "dream"),
        Sight.BOTH,
        (Published("Dream-org/DreamOn-v0-7B", APACHE, 7.62, QWEN_7B, note="finds the length of a hole by itself"),),
    ),
    Family(
        "open-dcoder",
        ("qwen2",),
        Sight.BOTH,
        (
            Published(
                "fredzzp/open-dcoder-0.5B",
                "see its card",
                0.49,
                0.136,
                32.5,
                OPEN_DLLM,
                "77.4 where the true length was given",
            ),
        ),
    ),
    Family(
        "a2d",
        ("a2d-qwen2", "a2d-qwen3", "a2d-llama"),
        Sight.BOTH,
        (Published("dllm-hub/Qwen3-0.6B-diffusion-mdlm-v0.1", "see its card", 0.60, 0.156),),
    ),
    Family(
        "llada",
        ("llada",),
        Sight.BOTH,
        (Published("GSAI-ML/LLaDA-8B-Base", "MIT", 8.02, 0.518, 48.3, OPEN_DLLM),),
    ),
    Family(
        "stable-diffcoder",
        ("llama",),
        Sight.PROMPT,
        (Published("ByteDance-Seed/Stable-DiffCoder-8B-Base", "MIT", 8.25, 0.635),),
    ),
    Family(
        "qwen2.5-coder",
        ("qwen2",),
        Sight.ORDER,
        (
            Published("Qwen/Qwen2.5-Coder-0.5B", APACHE, 0.49, 0.136),
            Published("Qwen/Qwen2.5-Coder-1.5B", APACHE, 1.54, 0.233),
            Published("Qwen/Qwen2.5-Coder-3B", "Qwen research licence", 3.09, 0.311),
            Published("Qwen/Qwen2.5-Coder-7B", APACHE, 7.62, 1.09),
        ),
    ),
    Family(
        "starcoder2",
        ("starcoder2",),
        Sight.ORDER,
        (Published("bigcode/starcoder2-3b", "BigCode OpenRAIL-M", 3.03, 0.151),),
    ),
    Family(
        "deepseek-coder",
        ("llama",),
        Sight.ORDER,
        (Published("deepseek-ai/deepseek-coder-1.3b-base", "DeepSeek licence", 1.35, 0.066),),
    ),
    Family(
        "codegemma",
        ("gemma",),
        Sight.ORDER,
        (Published("google/codegemma-2b", GEMMA, 2.51, 0.524, 78.4, CODEGEMMA),),
    ),
    Family(
        "mellum",
        ("llama",),
        Sight.ORDER,
        (Published("JetBrains/Mellum-4b-base", APACHE, 4.02, 0.151),),
    ),
)


def known_for(model_type: str) -> Iterator[Family]:
    """Yield the families with this model type. Their tokens tell them apart."""
    return (known for known in CATALOGUE if model_type in known.model_types)
