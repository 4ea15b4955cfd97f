"""What is measured: which ways of decoding answer which problems under which settings, and how often."""

from dataclasses import dataclass

from infill_engine.diagnostics.benchmark.left_to_right import LEFT_TO_RIGHT
from infill_engine.diagnostics.benchmark.systems import MODEL_ALONE, SERVED, Setting

USUAL_MS = 150.0
USUAL_CANDIDATES = 4
QUALITY, FIGHT = "quality", "fight"


@dataclass(frozen=True, slots=True)
class Experiment:
    """Ways of decoding that answer every `stride`th problem in turn, `rounds` times each.

    With one way, it measures the quality of the model that is named first, or of all `others`; with more, it compares
    them.
    """

    setting: Setting
    stride: int = 1
    rounds: int = 1
    ways: tuple[str, ...] = (SERVED,)
    others: bool = False

    @property
    def suite(self) -> str:
        """The name of its answers in the results."""
        return FIGHT if len(self.ways) > 1 else QUALITY


@dataclass(frozen=True, slots=True)
class Plan:
    """One suite, in this order. No unit starts that would probably end after `most_seconds`; 0 means no limit."""

    keystrokes: int
    quality: tuple[Experiment, ...]
    fights: tuple[Experiment, ...]
    most_seconds: float = 0.0


_BOTH = (SERVED, LEFT_TO_RIGHT)
_ALL = (SERVED, MODEL_ALONE, LEFT_TO_RIGHT)

PLANS = {
    "quick": Plan(
        keystrokes=120,
        quality=(
            Experiment(Setting(4, USUAL_MS), 2),
            Experiment(Setting(4, USUAL_MS), 2, others=True),
            Experiment(Setting(4, 300), 2),
            Experiment(Setting(1, USUAL_MS), 3),
            Experiment(Setting(4, 80), 3),
        ),
        fights=(
            Experiment(Setting(4, USUAL_MS), 4, 2, _ALL),
            Experiment(Setting(1, USUAL_MS), 5, 2, _BOTH),
            Experiment(Setting(4, 300), 5, 1, _BOTH),
            Experiment(Setting(4, 80), 5, 1, _BOTH),
        ),
        most_seconds=170,
    ),
    "full": Plan(
        keystrokes=1000,
        quality=(
            *(Experiment(Setting(4, budget)) for budget in (USUAL_MS, 80.0, 300.0, 400.0, 1000.0)),
            *(Experiment(Setting(candidates, USUAL_MS)) for candidates in (1, 2, 8)),
            *(Experiment(Setting(4, budget), others=True) for budget in (80.0, USUAL_MS, 300.0, 400.0, 1000.0)),
        ),
        fights=(
            Experiment(Setting(4, USUAL_MS), 1, 4, _ALL),
            Experiment(Setting(1, USUAL_MS), 1, 4, _ALL),
            *(Experiment(Setting(4, budget), 1, 2, _BOTH) for budget in (80.0, 300.0, 400.0, 1000.0)),
        ),
    ),
}
