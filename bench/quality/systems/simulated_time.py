"""Simulated time: the clock advances by recorded times of passes, whatever the machine is doing meanwhile.

With it, quality within a budget can be compared on a busy machine, and equal runs give equal results. The times were
measured in real answers by `bench.quality.record`. Each pass takes the next one of its size, so their spread is in it.
Latency is measured with the real clock only.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, cast

import msgspec

from infill_engine.budget.deadline import FinishMargin
from infill_engine.budget.work import Costs, Job, Phase
from infill_engine.engine.engine import Engine
from infill_engine.engine.loaded_model import FINISH_MARGIN_MS
from infill_engine.errors import InputError
from infill_engine.models.trunk.backends.interface import Backend, PassResult
from infill_engine.models.trunk.forms import PassForm
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.slots import Rows
from infill_engine.sampling.proposals import Proposals
from infill_engine.sampling.trunk.tree_sampler import MEASURED, TreeSampler
from infill_engine.types import ONE_HOLE, Draft, Hole, Holes, Surroundings, TextRequest

RECORD = "python -m bench.quality.record --out costs.json"
Pass = tuple[int, float]  # size and milliseconds


class Rest(msgspec.Struct, frozen=True, array_like=True):
    """Milliseconds of an answer outside its passes: before the first, between two (on average), after the last."""

    before: float
    between: float
    after: float


class RecordedCosts(msgspec.Struct, frozen=True):
    """What answers took on one machine. `reading` are passes before the clock starts, `passes` those of answers."""

    processor: str
    threads: int
    forms: list[PassForm]
    when: str
    reading: list[Pass]
    passes: list[Pass]
    rest: list[Rest]
    quality: dict[str, float] = {}

    def __str__(self) -> str:
        return f"{self.processor}, {self.threads} threads, {self.when}"


def add_simulate(parser: argparse.ArgumentParser) -> None:
    """Add the option whose value `read_costs` takes."""
    parser.add_argument("--simulate", type=Path, metavar="FILE", help=f"times of passes, from `{RECORD}`")


def read_costs(path: Path | None) -> RecordedCosts | None:
    """Read what `bench.quality.record` wrote; None without a path. Raises InputError for anything else."""
    if path is None:
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=RecordedCosts)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} holds no recorded times ({error}); record some with `{RECORD}`") from error


@dataclass(slots=True)
class SimulatedTime:
    """A clock in seconds that recorded times advance. Raises InputError if they are not of this model's passes."""

    costs: RecordedCosts
    model: TrunkModel
    seconds: float = 0.0
    reads: bool = False  # beforehand, when nobody waits
    _answers: dict[int, Iterator[float]] = field(init=False)
    _reading: dict[int, Iterator[float]] = field(init=False)
    _rest: Iterator[Rest] = field(init=False)

    def __post_init__(self) -> None:
        forms, costs = list(self.model.backend.forms), self.costs
        if not forms:
            raise InputError("only passes of fixed forms can be simulated: those of the default model on a processor")
        if not costs.rest:
            raise InputError("no answer had time for a pass; record some with a larger --budget-ms")
        most = max(size for size, _ in costs.reading + costs.passes)
        if forms != costs.forms or most < max(self.model.cost_rows(*form) for form in forms):
            raise InputError(f"the recorded times are not of all forms of this model; record some with `{RECORD}`")
        self._answers = _turns(costs.reading, costs.passes)
        self._reading = _turns(costs.passes, costs.reading)
        self._rest = cycle(costs.rest)

    def __call__(self) -> float:
        return self.seconds

    def spend(self, ms: float) -> None:
        """Let milliseconds go by."""
        self.seconds += ms / 1000

    def pass_ms(self, size: int) -> float:
        """Return the next recorded time of a pass of that size.

        One of a size that was never recorded takes as long as one of the next larger size, so no simulation is faster
        than the machine was.
        """
        turns = self._reading if self.reads else self._answers
        return next(turns[min(each for each in turns if each >= size)])

    def next_rest(self) -> Rest:
        """Return what the next answer takes outside its passes."""
        return next(self._rest)

    def least_ms(self, size: int) -> float:
        """Return the shortest recorded time of a pass of at least that size."""
        return min(took for known, took in self.costs.reading + self.costs.passes if known >= size)


def _turns(*recorded: Sequence[Pass]) -> dict[int, Iterator[float]]:
    """Return the times of each size, again from the first after the last. Of lists with a size, the last one counts."""
    found: dict[int, Iterator[float]] = {}
    for passes in recorded:
        found |= {size: cycle([took for one, took in passes if one == size]) for size in {one for one, _ in passes}}
    return found


@dataclass(frozen=True, slots=True)
class SimulatedBackend:
    """A backend whose passes advance a simulated clock."""

    backend: Backend
    time: SimulatedTime

    def __getattr__(self, name: str) -> Any:
        return getattr(self.backend, name)

    def run(self, buffer: Any, rows: Rows, first: int) -> PassResult:
        """See `Backend`."""
        self.time.spend(self.time.pass_ms(self.time.model.cost_rows(len(rows), len(rows.blocks))))
        return self.backend.run(buffer, rows, first)


@dataclass(slots=True)
class SimulatedCosts(Costs):
    """Costs that learn from simulated passes as they do from real ones. `between_ms` go by after each pass."""

    time: SimulatedTime = field(kw_only=True)
    between_ms: float = 0.0

    def observe(self, phase: Phase, size: int, took_ms: float) -> None:
        """See `Costs`."""
        Costs.observe(self, phase, size, took_ms)
        if phase is Phase.PASS:
            self.time.spend(self.between_ms)


class SimulatedMargin(FinishMargin):
    """Ranking takes `after_ms` by the simulated clock."""

    after_ms = 0.0

    def __init__(self, least_ms: float, time: SimulatedTime) -> None:
        super().__init__(least_ms)
        self._time = time

    def observe(self, took_ms: float) -> None:  # noqa: ARG002  (how long ranking takes here and now is ignored)
        """See `FinishMargin`."""
        self._time.spend(self.after_ms)
        super().observe(self.after_ms)


class SimulatedSampler(TreeSampler):
    """The trunk in simulated time. What an answer takes outside its passes is recorded, too."""

    def __init__(self, model: TrunkModel, time: SimulatedTime, margin: SimulatedMargin) -> None:
        super().__init__(model)
        self._time, self._margin = time, margin
        for form in MEASURED:
            size = model.cost_rows(*form)
            self.costs.observe(Phase.PASS, size, time.least_ms(size))
        self.costs = self._costs = SimulatedCosts(self.costs.phases, time=time)

    def prefetch(self, around: Surroundings) -> Job[None]:
        """See `Proposer`."""
        self._costs.between_ms, self._time.reads = 0.0, True
        try:
            yield from super().prefetch(around)
        finally:
            self._time.reads = False

    def propose(
        self, request: TextRequest, hole: Hole, drafts: tuple[Draft, ...], holes: Holes = ONE_HOLE
    ) -> Job[Proposals]:
        """See `Proposer`."""
        rest = self._time.next_rest()
        self._costs.between_ms, self._margin.after_ms = rest.between, rest.after
        self._time.spend(rest.before)
        return (yield from super().propose(request, hole, drafts, holes))


def simulate(engine: Engine, costs: RecordedCosts) -> SimulatedTime:
    """Let an engine's passes take recorded times, and return the clock. Raises InputError."""
    sampler = engine.proposer
    if not isinstance(sampler, TreeSampler):
        raise InputError("only the passes of the default model can be simulated")
    time = SimulatedTime(costs, sampler.model)
    # A new model: caches of prompts hold the backend that they were made with.
    backend = cast(Backend, SimulatedBackend(sampler.model.backend, time))
    model = TrunkModel(backend, sampler.model.vocabulary, denoises=sampler.model.denoises)
    margin = SimulatedMargin(FINISH_MARGIN_MS, time)
    engine.finish_margin, engine.proposer = margin, SimulatedSampler(model, time, margin)
    return time
