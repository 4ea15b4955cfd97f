"""The plans: which systems answer which problems under which settings, and how often."""

from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.systems.answered import Setting
from infill_engine.diagnostics.benchmark.systems.beams import LEFT_TO_RIGHT
from infill_engine.diagnostics.benchmark.systems.served import MODEL_ALONE, SERVED

USUAL_MS = 150.0
GATED = Setting(4, passes=4)  # compared with committed results: no limit of time, so the machine matters little


@dataclass(frozen=True, slots=True)
class Bout:
    """Ways of decoding that answer the same problems in turn, `rounds` times each. Every `stride`th problem is asked.

    `peers` tells whether programs of others take part.
    """

    setting: Setting
    ways: tuple[str, ...]
    rounds: int
    stride: int
    peers: bool = False


@dataclass(frozen=True, slots=True)
class Sweep:
    """Every `stride`th problem under one setting. `main` limits it to the model that is named first."""

    setting: Setting
    stride: int = 1
    main: bool = True


@dataclass(frozen=True, slots=True)
class Typing:
    """Keystrokes of the closed and of the open loop, and previews, in a document of so many lines."""

    lines: int
    closed: int
    open: int
    previews: int
    candidates: int = 4


@dataclass(frozen=True, slots=True)
class Plan:
    """One suite. `most_seconds` is when no further unit starts; 0 means never."""

    name: str
    typing: tuple[Typing, ...]
    sweeps: tuple[Sweep, ...]
    bouts: tuple[Bout, ...]
    pass_blocks: int
    generations: int
    most_seconds: float = 0.0


_BOTH = (SERVED, LEFT_TO_RIGHT)
_ALL = (SERVED, MODEL_ALONE, LEFT_TO_RIGHT)

QUICK = Plan(
    "quick",
    typing=(Typing(200, 90, 40, 12), Typing(20_000, 30, 0, 0)),
    sweeps=(
        Sweep(GATED),
        Sweep(Setting(4, USUAL_MS)),
        Sweep(Setting(4, USUAL_MS), main=False),
        Sweep(Setting(4, 80), 3),
        Sweep(Setting(4, 300), 3),
        Sweep(Setting(1, USUAL_MS), 3),
        Sweep(Setting(4, passes=1), 3),
        Sweep(Setting(4, passes=2), 3),
        Sweep(Setting(4, passes=8), 3),
    ),
    bouts=(
        Bout(Setting(4, USUAL_MS), _ALL, 2, 4, peers=True),
        Bout(Setting(1, USUAL_MS), _BOTH, 2, 4, peers=True),
        Bout(Setting(4, 80), _BOTH, 1, 4),
        Bout(Setting(4, 300), _BOTH, 1, 4),
    ),
    pass_blocks=12,
    generations=100,
    most_seconds=160,
)
FULL = Plan(
    "full",
    typing=(Typing(200, 1000, 300, 100), Typing(20_000, 300, 100, 0), Typing(200, 300, 0, 0, candidates=1)),
    sweeps=(
        Sweep(GATED),
        *(Sweep(Setting(4, budget), main=False) for budget in (80.0, USUAL_MS, 250.0, 400.0, 1000.0)),
        *(Sweep(Setting(candidates, USUAL_MS), main=False) for candidates in (1, 2, 8)),
        *(Sweep(Setting(4, passes=passes), main=False) for passes in (1, 2, 3, 6, 8, 12)),
    ),
    bouts=(
        Bout(Setting(4, USUAL_MS), _ALL, 4, 1, peers=True),
        Bout(Setting(1, USUAL_MS), _ALL, 4, 1, peers=True),
        *(Bout(Setting(4, budget), _BOTH, 2, 1) for budget in (80.0, 250.0, 400.0, 1000.0)),
    ),
    pass_blocks=24,
    generations=400,
)
PLANS = {plan.name: plan for plan in (QUICK, FULL)}
