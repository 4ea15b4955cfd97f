"""What is measured: which ways of decoding answer which problems under which settings, and how often."""

from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.left_to_right import LEFT_TO_RIGHT
from infill_engine.diagnostics.benchmark.systems import MODEL_ALONE, SERVED, Setting

USUAL_MS = 150.0
USUAL_CANDIDATES = 4


@dataclass(frozen=True, slots=True)
class Fight:
    """Ways of decoding that answer every `stride`th problem in turn, `rounds` times each."""

    setting: Setting
    ways: tuple[str, ...]
    rounds: int
    stride: int


@dataclass(frozen=True, slots=True)
class Sweep:
    """Every `stride`th problem under one setting: for the model that is named first, or for all `others`."""

    setting: Setting
    stride: int = 1
    others: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """One suite, in this order. No unit starts that would probably end after `most_seconds`; 0 means no limit."""

    name: str
    keystrokes: int
    sweeps: tuple[Sweep, ...]
    fights: tuple[Fight, ...]
    most_seconds: float = 0.0


_BOTH = (SERVED, LEFT_TO_RIGHT)
_ALL = (SERVED, MODEL_ALONE, LEFT_TO_RIGHT)

QUICK = Plan(
    "quick",
    keystrokes=120,
    sweeps=(
        Sweep(Setting(4, USUAL_MS), 2),
        Sweep(Setting(4, USUAL_MS), 2, others=True),
        Sweep(Setting(4, 300), 2),
        Sweep(Setting(1, USUAL_MS), 3),
        Sweep(Setting(4, 80), 3),
    ),
    fights=(
        Fight(Setting(4, USUAL_MS), _ALL, 2, 4),
        Fight(Setting(1, USUAL_MS), _BOTH, 2, 5),
        Fight(Setting(4, 300), _BOTH, 1, 5),
        Fight(Setting(4, 80), _BOTH, 1, 5),
    ),
    most_seconds=170,
)
FULL = Plan(
    "full",
    keystrokes=1000,
    sweeps=(
        *(Sweep(Setting(4, budget)) for budget in (USUAL_MS, 80.0, 300.0, 400.0, 1000.0)),
        *(Sweep(Setting(candidates, USUAL_MS)) for candidates in (1, 2, 8)),
        *(Sweep(Setting(4, budget), others=True) for budget in (80.0, USUAL_MS, 300.0, 400.0, 1000.0)),
    ),
    fights=(
        Fight(Setting(4, USUAL_MS), _ALL, 4, 1),
        Fight(Setting(1, USUAL_MS), _ALL, 4, 1),
        *(Fight(Setting(4, budget), _BOTH, 2, 1) for budget in (80.0, 300.0, 400.0, 1000.0)),
    ),
)
PLANS = {plan.name: plan for plan in (QUICK, FULL)}
