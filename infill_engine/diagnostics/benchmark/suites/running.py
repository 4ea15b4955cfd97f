"""The state of a run: its results, loaded models, problems and the judge; and how a unit asks and records."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import psutil

from infill_engine.budget.deadline import now, since
from infill_engine.diagnostics.benchmark.machine import read_energy_joules
from infill_engine.diagnostics.benchmark.problems.judging import Judge
from infill_engine.diagnostics.benchmark.problems.loading import Problem
from infill_engine.diagnostics.benchmark.problems.similarity import edit_similarity
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.suites.plan import Plan
from infill_engine.diagnostics.benchmark.systems.answered import UNHURRIED_MS, Peer, Setting, System
from infill_engine.diagnostics.benchmark.systems.beams import LEFT_TO_RIGHT, LeftToRight
from infill_engine.diagnostics.benchmark.systems.served import MODEL_ALONE, Served
from infill_engine.engine.local import LocalEngine
from infill_engine.models.registry import folder_of, trained_folder
from infill_engine.models.trunk.sources import source_of
from infill_engine.sampling.tree_sampler import MEASURED, TreeSampler
from infill_engine.settings import EngineSettings

Load = Callable[[str, EngineSettings], LocalEngine]


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a run that is measured at once; `seconds` is a guess. `key` is its name in the results."""

    key: str
    seconds: float
    run: Callable[[], None]


@dataclass(slots=True)
class Run:
    """Everything that the units of a run share. `peers` are programs of others, started when they are first asked."""

    plan: Plan
    models: tuple[str, ...]
    problems: tuple[Problem, ...]
    results: Results
    load: Load
    peers: tuple[Peer, ...] = ()
    judge: Judge = field(default_factory=Judge)
    _engines: dict[str, LocalEngine] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the peers."""
        for peer in self.peers:
            peer.close()

    @property
    def main(self) -> str:
        """The model that is named first."""
        return self.models[0]

    def engine(self, model: str) -> LocalEngine:
        """Return a loaded model. What loading it cost is part of the results."""
        if model not in self._engines:
            before, began = _resident_mb(), now()
            engine = self._engines[model] = self.load(model, EngineSettings())
            gc.collect()
            tree = engine.sampler if isinstance(engine.sampler, TreeSampler) else None
            self.results.add(
                "load",
                model=model,
                seconds=round(since(began) / 1000, 2),
                resident_mb=round(_resident_mb() - before, 1),
                device=engine.device,
                profile=engine.profile,
                pass_ms={} if tree is None else {rows: round(tree.pass_ms(rows), 2) for rows in MEASURED},
            )
        return self._engines[model]

    def system(self, model: str, way: str) -> System:
        """Return a way of decoding with a model. Only the trunk can be decoded from left to right."""
        engine = self.engine(model)
        if way == LEFT_TO_RIGHT:
            return LeftToRight(engine)
        return Served(engine, drafts=way != MODEL_ALONE)

    def ask(self, suite: str, model: str, system: System, problem: Problem, setting: Setting, turn: int = 0) -> None:
        """Have a system answer, judges its texts and adds the answer to the results."""
        answered = system.answer(problem, setting)
        self.judge.decide((problem, text) for text in answered.texts)
        right = [self.judge.is_right(problem, text) for text in answered.texts]
        first = answered.texts[0] if answered.texts else ""
        passes = answered.passes
        self.results.add(
            "answer",
            suite=suite,
            model=model,
            way=system.way,
            problem=problem.id,
            kind=problem.kind,
            turn=turn,
            candidates=setting.candidates,
            budget_ms=None if setting.budget_ms == UNHURRIED_MS else setting.budget_ms,
            most_passes=setting.passes,
            texts=list(answered.texts),
            right=right,
            similarity=round(edit_similarity(first, problem.truth), 4),
            ms=round(answered.ms, 2),
            cpu_ms=None if answered.cpu_ms is None else round(answered.cpu_ms, 2),
            tokens=list(answered.tokens),
            rows=[piece.size for piece in passes],
            pass_ms=[round(piece.ms, 2) for piece in passes],
            sources=list(answered.sources),
            partial=sum(answered.partial),
            reason=answered.reason,
            extra=answered.extra,
        )

    def give_up(self, way: str, why: str) -> None:
        """Go on without a peer that does not work."""
        for peer in self.peers:
            if peer.way == way:
                peer.close()
                self.results.missing(way, why)
        self.peers = tuple(peer for peer in self.peers if peer.way != way)

    def measure(self, unit: Unit) -> None:
        """Measure a unit, and the energy and memory that went with it."""
        joules, began = read_energy_joules(), now()
        self.results.begin(unit.key)
        unit.run()
        used = read_energy_joules()
        self.results.add(
            "resources",
            seconds=round(since(began) / 1000, 2),
            joules=None if joules is None or used is None or used < joules else round(used - joules, 2),
            resident_mb=round(_resident_mb(), 1),
        )
        self.results.finish()


def is_trunk(model: str) -> bool:
    """Return whether a model is of the trunk's architecture, without loading it."""
    path = folder_of(model)
    return path is not None and path.exists() and source_of(path, trained_folder(path)) is not None


def parted(
    key: str, problems: list[Problem], size: int, seconds_each: float, work: Callable[[list[Problem]], None]
) -> list[Unit]:
    """Return units of at most `size` problems each."""
    parts = [problems[start : start + size] for start in range(0, len(problems), size)]
    return [
        Unit(f"{key} {number}/{len(parts)}", seconds_each * len(part), partial(work, part))
        for number, part in enumerate(parts, 1)
    ]


def _resident_mb() -> float:
    return float(psutil.Process().memory_info().rss / 1e6)
