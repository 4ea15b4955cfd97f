"""The plans: which systems answer which problems under which settings, and how often."""

from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.systems.answered import Setting
from infill_engine.diagnostics.benchmark.systems.beams import LEFT_TO_RIGHT
from infill_engine.diagnostics.benchmark.systems.served import MODEL_ALONE, SERVED

USUAL_MS = 150.0
GATED = Setting(4, passes=6)  # compared with committed results: no limit of time, so the machine matters little


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
    """Every `stride`th problem under one setting: for the model that is named first, or for all `others`."""

    setting: Setting
    stride: int = 1
    others: bool = False


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
    """One suite, in this order.

    `generations` are those in one process, within `drift_seconds`. Beside it, `processes` are replaced: each measures
    passes for `pass_seconds` and then so many generations, its `life`. No unit starts that would probably end after
    `most_seconds`; 0 means no limit.
    """

    name: str
    typing: tuple[Typing, ...]
    first: tuple[Sweep, ...]
    bouts: tuple[Bout, ...]
    then: tuple[Sweep, ...]
    generations: int
    drift_seconds: float
    processes: int
    pass_seconds: float
    life: int
    most_seconds: float = 0.0


_BOTH = (SERVED, LEFT_TO_RIGHT)
_ALL = (SERVED, MODEL_ALONE, LEFT_TO_RIGHT)

QUICK = Plan(
    "quick",
    typing=(Typing(200, 60, 40, 8), Typing(20_000, 20, 0, 0)),
    first=(
        Sweep(GATED, 2),
        Sweep(Setting(4, USUAL_MS), 3),
        Sweep(Setting(4, USUAL_MS), 3, others=True),
        Sweep(Setting(4, 300), 3),
    ),
    bouts=(
        Bout(Setting(4, USUAL_MS), _ALL, 2, 5, peers=True),
        Bout(Setting(1, USUAL_MS), _BOTH, 2, 5, peers=True),
        Bout(Setting(4, 300), _BOTH, 1, 5),
        Bout(Setting(4, 80), _BOTH, 1, 5),
    ),
    then=(
        Sweep(Setting(4, passes=2), 4),
        Sweep(Setting(1, USUAL_MS), 3),
        Sweep(Setting(4, passes=10), 4),
        Sweep(Setting(4, 80), 3),
    ),
    generations=240,
    drift_seconds=30,
    processes=6,
    pass_seconds=2,
    life=10,
    most_seconds=170,
)
FULL = Plan(
    "full",
    typing=(Typing(200, 1000, 300, 100), Typing(20_000, 300, 100, 0), Typing(200, 300, 0, 0, candidates=1)),
    first=(Sweep(GATED), Sweep(Setting(4, USUAL_MS))),
    bouts=(
        Bout(Setting(4, USUAL_MS), _ALL, 4, 1, peers=True),
        Bout(Setting(1, USUAL_MS), _ALL, 4, 1, peers=True),
        *(Bout(Setting(4, budget), _BOTH, 2, 1) for budget in (80.0, 300.0, 400.0, 1000.0)),
    ),
    then=(
        *(Sweep(Setting(4, passes=passes)) for passes in (1, 2, 3, 4, 8, 10, 12, 16)),
        *(Sweep(Setting(4, budget)) for budget in (80.0, 300.0, 400.0, 1000.0)),
        *(Sweep(Setting(candidates, USUAL_MS)) for candidates in (1, 2, 8)),
        *(Sweep(Setting(4, budget), others=True) for budget in (80.0, USUAL_MS, 300.0, 400.0, 1000.0)),
        *(Sweep(Setting(4, passes=passes), others=True) for passes in (1, 2, 3, 5)),
    ),
    generations=400,
    drift_seconds=600,
    processes=10,
    pass_seconds=10,
    life=40,
)
GATE = Plan(
    "gate",
    typing=(),
    first=(Sweep(GATED),),
    bouts=(),
    then=(),
    generations=0,
    drift_seconds=0,
    processes=0,
    pass_seconds=0,
    life=0,
)
PLANS = {plan.name: plan for plan in (QUICK, FULL, GATE)}
