"""How fast the default model computes on this machine: the milliseconds of a pass, and the passes of an answer."""

from dataclasses import dataclass
from statistics import median

from infill_engine.budget.deadline import Deadline, timed
from infill_engine.budget.work import PassState
from infill_engine.diagnostics.benchmark.problems.problem_files import FOLDER, load_problems
from infill_engine.diagnostics.benchmark.running import read_up_to_the_line
from infill_engine.engine.engine import Engine
from infill_engine.models.trunk.published_sizes import ROWS
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.serving.starting import load_local
from infill_engine.settings import ModelSettings
from infill_engine.types import InfillRequest
from lsp_server.settings.schema import EngineChoice

ANSWERS = 5  # that are rehearsed with each budget
TIMED_PASSES = 5
CANDIDATES = 4


@dataclass(frozen=True, slots=True)
class Speed:
    """The milliseconds of a pass over ROWS rows, and the passes of an answer with each budget. All are medians.

    The budgets are that of a keystroke and that of an explicit request.
    """

    pass_ms: float
    budgets_ms: tuple[int, int]
    passes: tuple[float, float]

    @property
    def sentence(self) -> str:
        """The same in words."""
        typing, explicit = map(_counted, self.passes)
        return (
            f"One pass over {ROWS} rows takes {self.pass_ms:.0f} ms. In {ANSWERS} rehearsed answers, the model usually "
            f"made {typing} in the {self.budgets_ms[0]} ms while typing, and {explicit} in the {self.budgets_ms[1]} ms "
            "of an explicit request."
        )


def measure_speed(choice: EngineChoice, budgets_ms: tuple[int, int]) -> Speed:
    """Load the default model into this process and rehearse answers. Raises ModelError."""
    settings = ModelSettings(dtype=choice.precision)
    engine = load_local(choice.model, choice.device, settings)
    assert isinstance(engine.proposer, TreeSampler)
    run_pass = engine.proposer.model.separate_pass()
    requests = [each.request(CANDIDATES) for each in load_problems([FOLDER / "lines.toml"])[:ANSWERS]]

    def usual_passes(budget_ms: int) -> float:
        return median(_passes(engine, request, budget_ms) for request in requests)

    pass_ms = median(timed(run_pass, ROWS) for _ in range(TIMED_PASSES))
    typing_ms, explicit_ms = budgets_ms
    return Speed(pass_ms, budgets_ms, (usual_passes(typing_ms), usual_passes(explicit_ms)))


def _passes(engine: Engine, request: InfillRequest, budget_ms: int) -> int:
    seen: list[PassState] = []
    read_up_to_the_line(engine, request)
    engine.fresh(request, Deadline.after_ms(budget_ms), seen.append)
    return len(seen)


def _counted(passes: float) -> str:
    return f"{passes:g} pass{'es' * (passes != 1)}"
