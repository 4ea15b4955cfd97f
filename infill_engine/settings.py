"""How much text around a hole the engine reads and how it denoises. Frozen; change with `dataclasses.replace`."""

from dataclasses import dataclass, field

from infill_engine.errors import InputError

AUTO = "auto"  # a device or precision that is chosen for this machine
STORED = ("int8", "int4")
DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
DTYPES |= {name: name for name in DTYPES.values()}
CHARACTERS = 13  # in four tokens of code, approximately


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How much text around the cursor a request carries, in characters.

    `project_text`: whether the engine also wants the text of the project's other files, sent separately from requests.
    """

    prefix_chars: int = 1100
    suffix_chars: int = 450
    project_text: bool = False


USUAL_WINDOW = WindowSettings()


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """The settings of the denoising loop.

    `entropy_bound` is in nats: open positions are committed in order of entropy while the entropy they add stays below
    it (EB-Sampler, arXiv 2505.24857). `sure` commits any token that is at least this probable, regardless of the bound.
    A filled slot is opened again when its token falls below `doubt` while another reaches `overrule` (probabilities).
    """

    max_steps: int = 5
    entropy_bound: float = 0.5
    sure: float = 0.92
    doubt: float = 0.05
    overrule: float = 0.5
    temperature: float = 0.7  # of the sampled row
    partial_confidence: float = 0.5  # minimum probability of a token in a partial answer
    latency_target: float = 0.67  # share of the time left after reading that the rest may take: the median matters
    finish_margin_ms: float = 9.0  # minimum, for cleaning and ranking


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a published model is run; the default model uses only `dtype`."""

    dtype: str = AUTO  # or a name in DTYPES, int8, int4
    prefix_tokens: int = 768
    suffix_tokens: int = 384

    @property
    def stored(self) -> str:
        """How matrices are stored in memory: `int8`, `int4`, or "" for the precision of the computation."""
        return self.dtype if self.dtype in STORED else ""

    def float_type(self) -> str:
        """Return the chosen floating-point type, named as in torch and MLX; "" leaves the choice to the loader.

        Raises InputError for an unknown precision.
        """
        if self.dtype == AUTO or self.stored:
            return ""
        if self.dtype not in DTYPES:
            known = ", ".join(name for name in (*DTYPES, *STORED) if "float" not in name)
            raise InputError(f"precision `{self.dtype}` is not known; use `{AUTO}` or one of: {known}")
        return DTYPES[self.dtype]

    @property
    def window(self) -> WindowSettings:
        """The window in characters that corresponds to the token limits."""
        return WindowSettings(self.prefix_tokens * CHARACTERS // 4, self.suffix_tokens * CHARACTERS // 4)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Everything about the engine and how it runs the model."""

    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
