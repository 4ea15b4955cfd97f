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

    `generations` are those in one process, `recycled` those in processes that are replaced after `life` of them. No
    unit starts that would probably end after `most_seconds`; 0 means no limit.
    """

    name: str
    typing: tuple[Typing, ...]
    first: tuple[Sweep, ...]
    bouts: tuple[Bout, ...]
    then: tuple[Sweep, ...]
    pass_blocks: int
    generations: int
    recycled: int
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
    pass_blocks=10,
    generations=60,
    recycled=40,
    life=20,
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
    pass_blocks=24,
    generations=400,
    recycled=400,
    life=50,
)
GATE = Plan(
    "gate", typing=(), first=(Sweep(GATED),), bouts=(), then=(), pass_blocks=0, generations=0, recycled=0, life=1
)
PLANS = {plan.name: plan for plan in (QUICK, FULL, GATE)}
