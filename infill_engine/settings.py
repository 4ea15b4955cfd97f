"""How the engine looks at the text around a hole and how it denoises. Frozen; change with `dataclasses.replace`."""

from dataclasses import dataclass, field

CHARACTERS = 13  # of four tokens of code, about


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How much text around the cursor a request carries, in characters.

    `surroundings`: whether the text of the project's other files is wanted besides, apart from requests.
    """

    prefix_chars: int = 1100
    suffix_chars: int = 450
    surroundings: bool = False


USUAL_WINDOW = WindowSettings()


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """One denoising loop's knobs.

    `entropy_bound` is in nats: open positions are committed in order of entropy while the entropy they add stays below
    it (EB-Sampler, arXiv 2505.24857). `sure` commits whatever is at least this probable regardless of the bound.
    A filled slot is opened again when its token falls below `doubt` while another reaches `overrule` (probabilities).
    Where nothing stays decided, a row is done when two steps in a row predict the same and the mean entropy of its
    slots is below `settled` nats.
    """

    max_steps: int = 5
    entropy_bound: float = 0.5
    sure: float = 0.92
    doubt: float = 0.05
    overrule: float = 0.5
    converged: float = 0.005
    temperature: float = 0.7  # of the one sampled row
    partial_confidence: float = 0.5  # the least probability of a token that may stay in a partial answer
    latency_target: float = 0.67  # of the time left after reading, for all else: people wait for the median
    finish_margin_ms: float = 12.0  # at least, for cleaning, ranking and the way back to the editor


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a published model is run; the default model heeds only `dtype`.

    `probe_lengths` asks a diffusion model in one pass how long the hole is, instead of trying usual lengths.
    `reuse_context` keeps what a bidirectional model computed for the context, for all rows and steps and across
    keystrokes: much faster, and approximate, since what was read does not see what is decided or typed later. An
    answer then rests a little on how its text came about. Without it, every step computes the whole context: exact.
    """

    dtype: str = "auto"  # or fp32, bf16, fp16 (torch's own names will do), int8, int4
    prefix_tokens: int = 768
    suffix_tokens: int = 384
    probe_lengths: bool = True
    reuse_context: bool = False

    @property
    def stored(self) -> str:
        """How matrices are kept in memory: `int8`, `int4`, or "" for the precision that is computed in."""
        return self.dtype if self.dtype in ("int8", "int4") else ""

    @property
    def window(self) -> WindowSettings:
        """Text that fills so many tokens."""
        return WindowSettings(self.prefix_tokens * CHARACTERS // 4, self.suffix_tokens * CHARACTERS // 4)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Everything about the engine and how it runs the model.

    `budget_ms` is the time that requests usually have: it decides which model the default is on this machine.
    """

    sampler: SamplerSettings = field(default_factory=SamplerSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    budget_ms: float = 150.0
