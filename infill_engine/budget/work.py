"""Work done in pieces: a job announces each piece before it starts, and the budget decides whether it may start.

    Job ──Work(phase, size)──▶ Budget.run ──enough time──▶ the job does the piece, which is timed
                                          └─too little───▶ OutOfTime is raised inside the job
    Job ──Choice(works)──────▶ Budget.run ──the first that fits──▶ the job goes on with that one

A piece is usually one forward pass. A pass cannot be interrupted, so it must not start unless it will end in time.
`Budget` alone decides whether a piece starts. A job that runs out of time returns what it has.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar

from infill_engine.budget.deadline import CostModel, Deadline, FinishMargin

T = TypeVar("T")
EVER_MS = 1e9
FIRST_SHARE = 0.5


class OutOfTime(Exception):  # noqa: N818  (not an error: the job returns what it has, and its caches keep what was read)
    """There is not enough time for the announced piece of work."""


class Phase(StrEnum):
    """What a piece of work does. Each phase has its own costs. The unit of its size is in brackets."""

    READ = "read"  # part of a prompt or context [tokens]
    PASS = "pass"  # a forward pass over a canvas, or over tokens after a prompt [slots or tokens]
    COUNT = "count"  # n-grams of new lines [lines]


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work. `then_ms` is the time that must be left after it. It must end by `due`, or by the request's
    deadline if `due` is None.
    """

    phase: Phase
    size: int
    then_ms: float = 0.0
    due: Deadline | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A question: which of these pieces would end in time? The job receives the number of the first one, or None."""

    works: Iterable[Work]


@dataclass(frozen=True, slots=True)
class Limit:
    """By when work must end: `finish_ms` before the deadline."""

    deadline: Deadline
    finish_ms: float


class AskLimit:
    """A question: by when must the work end? The job receives a `Limit`."""


@dataclass(frozen=True, slots=True)
class PassState:
    """A model with its canvas or token tree after a pass, for an observer."""

    model: object
    state: object


Event = Work | Choice | AskLimit | PassState
Job = Generator[Event, Any, T]
Observer = Callable[[PassState], None]


def _at_once() -> None:
    pass


@dataclass(slots=True)
class Costs:
    """The measured cost of each phase.

    `first_share` is how much of the time of a phase's first piece counts. The rest is one-time setup.
    """

    phases: dict[Phase, CostModel] = field(default_factory=lambda: {phase: CostModel() for phase in Phase})
    first_share: float = FIRST_SHARE

    def predict_ms(self, phase: Phase, size: int) -> float:
        """Return the expected milliseconds of a piece of that size."""
        return self.phases[phase].predict_ms(size)

    def best_ms(self, phase: Phase, size: int) -> float:
        """Return the milliseconds of a piece of that size on an idle machine."""
        return self.phases[phase].best_ms(size)

    def observe(self, phase: Phase, size: int, took_ms: float) -> None:
        """Record how long a piece took."""
        self.phases[phase].observe(size, took_ms)

    def decay(self, phase: Phase) -> None:
        """Lower the prediction a little: work that is always refused is never measured again."""
        self.phases[phase].decay()


@dataclass(slots=True)
class Budget:
    """The time of one request. `finish_margin` is kept for the steps after the job; `finish` waits for the device.

    `refused` says whether there was too little time for any piece of work.
    """

    deadline: Deadline
    costs: Costs
    finish_margin: FinishMargin
    finish: Callable[[], None] = _at_once
    refused: bool = False

    @classmethod
    def unlimited(cls) -> "Budget":
        """Return a budget without a limit."""
        return cls(Deadline.after_ms(EVER_MS), Costs(), FinishMargin(0.0))

    def allows(self, work: Work) -> bool:
        """Return whether `work` is still wanted and would end in time."""
        cost_ms = self.costs.predict_ms(work.phase, work.size) + work.then_ms
        return (work.due or self.deadline).allows(cost_ms + self.finish_margin.predict_ms())

    def run(self, job: Job[T], observer: Observer | None = None) -> T:
        """Run a job to its end, piece by piece, while there is time. The only loop that runs jobs under a deadline."""
        done: set[Phase] = set()
        try:
            event = next(job)
            while True:
                if isinstance(event, Work):
                    event = self._work(job, event, done)
                elif isinstance(event, PassState):
                    if observer is not None:
                        observer(event)
                    event = next(job)
                else:
                    event = job.send(self._answer(event))
        except StopIteration as end:
            result: T = end.value
            return result

    def _work(self, job: Job[T], work: Work, done: set[Phase]) -> Event:
        """Let the job do one piece, unless there is too little time. `done` are the phases of earlier pieces."""
        if self.allows(work):
            done.add(work.phase)
            return self._timed(job, work)
        self.refused = True
        if work.phase not in done:
            self.costs.decay(work.phase)
        return job.throw(OutOfTime())

    def _answer(self, question: Choice | AskLimit) -> int | Limit | None:
        if isinstance(question, AskLimit):
            return Limit(self.deadline, self.finish_margin.predict_ms())
        for number, work in enumerate(question.works):
            if self.allows(work):
                return number
            self.refused = True
        return None

    def _timed(self, job: Job[T], work: Work) -> Event:
        """Let the job do one piece. The piece is timed until the job announces the next one."""
        started = self.deadline.clock()
        try:
            event = next(job)
        except StopIteration:
            self._learn(work, started)
            raise
        self._learn(work, started)
        return event

    def _learn(self, work: Work, started: float) -> None:
        self.finish()
        share = 1.0 if self.costs.phases[work.phase].measured else self.costs.first_share
        self.costs.observe(work.phase, work.size, share * (self.deadline.clock() - started) * 1000)


def leaving(job: Job[T], then_ms: float) -> Job[T]:
    """Return the same job, with pieces that leave `then_ms` for the work after it."""
    try:
        event = next(job)
        while True:
            if isinstance(event, Work):
                event = replace(event, then_ms=event.then_ms + then_ms)
            try:
                answer = yield event
            except OutOfTime as over:
                event = job.throw(over)
            else:
                event = job.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def finished(job: Job[T]) -> T:
    """Return the result of a job that runs without a time limit."""
    return Budget.unlimited().run(job)
