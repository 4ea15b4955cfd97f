"""Simulated time: the clock advances by the known cost of each forward pass, whatever the machine is doing meanwhile.

With it, quality within a budget can be measured on a busy machine, and equal runs give equal results. Text that reports
such figures names the simulated costs. Latency is measured with the real clock only.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from infill_engine.budget.deadline import CostModel, FinishMargin
from infill_engine.budget.work import Costs, Phase
from infill_engine.engine.engine import Engine
from infill_engine.errors import InputError
from infill_engine.models.trunk.backends.interface import Backend, Likely
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.slots import NO_BLOCKS, Blocks, Rows
from infill_engine.sampling.trunk.tree_sampler import MEASURED, TreeSampler


@dataclass(slots=True)
class SimulatedTime:
    """A clock in seconds. `costs` are the milliseconds of a pass by its number of rows; others are interpolated."""

    costs: dict[int, float]
    seconds: float = field(default=0.0)

    def __call__(self) -> float:
        return self.seconds

    def pass_ms(self, rows: float) -> float:
        """Return the milliseconds of a pass over `rows` rows."""
        sizes = sorted(self.costs)
        return float(np.interp(rows, sizes, [self.costs[size] for size in sizes])) * max(1.0, rows / sizes[-1])


@dataclass(frozen=True, slots=True)
class SimulatedBackend:
    """A backend whose passes advance a simulated clock."""

    backend: Backend
    time: SimulatedTime

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    def run(self, buffer: Any, rows: Rows, first: int, blocks: Blocks = NO_BLOCKS) -> Likely:
        """See `Backend`."""
        share = self.backend.denoiser.mask_share if self.backend.denoiser else 0.0
        self.time.seconds += self.time.pass_ms(len(rows) + len(blocks) * share) / 1000
        return self.backend.run(buffer, rows, first, blocks)


@dataclass(slots=True)
class SimulatedCosts(Costs):
    """Costs that are known. What the machine's own clock says of a pass is ignored."""

    def observe(self, phase: Phase, size: int, took_ms: float) -> None:
        """See `Costs`."""


class LeastMargin(FinishMargin):
    """The margin of a machine that does nothing else. How long ranking takes on this one is ignored."""

    def observe(self, took_ms: float) -> None:
        """See `FinishMargin`."""


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Add the option whose value `simulate` takes."""
    parser.add_argument(
        "--simulate", nargs="+", default=[], metavar="ROWS:MS", help="the cost of passes, in place of the real clock"
    )


def times_of(costs: Sequence[str]) -> dict[int, float]:
    """Return milliseconds by rows from texts such as `16:49.5`. Raises InputError."""
    try:
        return {int(rows): float(took) for rows, took in (each.split(":") for each in costs)}
    except ValueError as error:
        raise InputError("give the costs of passes as ROWS:MILLISECONDS, such as 8:33 16:49.5") from error


def simulate(engine: Engine, costs: Sequence[str]) -> SimulatedTime:
    """Let an engine's passes take simulated time. `costs` are texts such as `16:49.5`, rows and milliseconds.

    Raises InputError.
    """
    sampler = engine.proposer
    if not isinstance(sampler, TreeSampler):
        raise InputError("only the passes of the default model can be simulated")
    time = SimulatedTime(times_of(costs))
    # A new model: caches of prompts hold the backend that they were made with.
    model = sampler.model
    backend = cast(Backend, SimulatedBackend(model.backend, time))
    sampler.model = TrunkModel(backend, model.vocabulary, denoises=model.denoises)
    margin = LeastMargin(engine.settings.sampler.finish_margin_ms)
    engine.finish_margin = margin
    # Nobody waits while a prompt is read beforehand, and large parts are read faster.
    sampler.part_ms = sampler.large_part_ms = math.inf
    passes = CostModel()
    for rows in MEASURED:
        passes.observe(rows, time.pass_ms(rows))
    sampler.costs = Costs({Phase.READ: passes, Phase.PASS: passes, Phase.COUNT: CostModel()})
    return time
