"""The systems compared: the product, its parts, and the baselines. Each is a function from a hole to texts.

Every system sees the request that the product builds for the hole, and every text goes through the product's cleaning.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import Any, Self

import numpy as np

from bench.quality.problems.holes import Task
from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.budget.work import PassState
from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.engine.engine import Engine
from infill_engine.ranking.cleanup import clean, cleaned
from infill_engine.ranking.features import evidence
from infill_engine.sampling.proposals import Proposals, unscored_drafts
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.text.lines import last_line
from infill_engine.types import Answer, Hole, InfillRequest, ProjectText, ProposedText
from lsp_server.documents.snapshots import Documents
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions.request_content import build_request

PRODUCT = "engine"
WARM_MS = 10_000  # to read beforehand


@dataclass(frozen=True, slots=True)
class Question:
    """A hole and the product's request for it."""

    task: Task
    request: InfillRequest
    hole: Hole
    project_text: ProjectText


@dataclass(frozen=True, slots=True)
class Reply:
    """Texts, best first, as they would be inserted. `proposals` hold features of everything the engine weighed."""

    texts: tuple[str, ...] = ()
    confidences: tuple[float, ...] = ()
    sources: tuple[str, ...] = ()
    partial: tuple[bool, ...] = ()
    elapsed_ms: float = 0.0
    reason: str = ""
    proposals: tuple[dict[str, Any], ...] = ()
    extra: dict[str, float] = field(default_factory=dict)


System = Callable[[Question], Reply]


class ObservedEngine(Engine):
    """An engine that keeps the proposals of its last fresh answer, before cleaning and ranking."""

    proposals: list[ProposedText] | None = None

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """Observe a loaded engine, whose caches and measured costs are used on."""
        return cls(engine.proposer, engine.name, engine.calibration)

    def forget(self) -> None:
        """Drop all cached answers, so that the next one is computed even for an equal request."""
        self.forget_answers()
        self.proposer.forget_predictions()

    def forget_answers(self) -> None:
        """Drop all cached answers, but keep what the model has read."""
        self.proposals = None
        self.answers = AnswerCache(1)

    def _propose(self, *arguments: Any) -> Proposals:
        found = super()._propose(*arguments)
        self.proposals = None if found.incomplete_context else found.proposals
        return found


def ask(task: Task, candidates: int, window: WindowSettings = USUAL_WINDOW) -> Question:
    """Build the request exactly as the server does, for the task's document in its project.

    `window` is how much text the engine wants around the hole.
    """
    snapshot = Documents().open("file:///bench/hole.py", task.language, task.text)
    place, settings = (task.row, task.column), ServerSettings(candidates=candidates)
    request = build_request(snapshot, place, settings, project=task.project, window=window, path=task.path)
    assert request.hole is not None
    return Question(task, request, request.hole, task.project)


def nothing(_question: Question) -> Reply:
    """Return no texts: the lower bound."""
    return Reply()


def copy(question: Question) -> Reply:
    """Return what followed the same text elsewhere. Uses no model."""
    started = perf_counter()
    drafts = question.request.drafts or ()
    return reply(question, [(draft.text, 0.0) for draft in drafts if draft.copied], started)


def drafts(question: Question) -> Reply:
    """Return copies and analogies in turn, and what their confidence without a model is fitted to."""
    started = perf_counter()
    found = question.request.drafts or ()
    replied = reply(question, [(draft.text, 0.0) for draft in found], started)
    return replace(
        replied, proposals=_weighed(unscored_drafts(found) or [], replace(question.request, hole=question.hole))
    )


@dataclass(slots=True)
class EngineSystem:
    """The product, or the model alone if drafts are off.

    Before the clock starts, the project's other files are counted and the text up to the cursor's line is encoded, as
    in an editor when the user arrives there by typing; `cold` skips the latter. With `typed`, the user has typed that
    many characters of the line, each followed by a pause of `pause_ms`, in which the engine computes.
    """

    engine: ObservedEngine
    budget_ms: float
    with_drafts: bool = True
    cold: bool = False
    clock: Clock = now
    typed: int = 0
    pause_ms: float = 200.0

    def __call__(self, question: Question) -> Reply:
        request = question.request
        if self.with_drafts:
            deque(self.engine.index_project(question.project_text), maxlen=0)
        else:
            request = replace(request, drafts=(), project_name="", wider_context=("", ""))
        self.engine.forget()
        if not self.cold:
            line = request.prefix.rfind("\n") + 1
            limit = Deadline.after_ms(WARM_MS, clock=self.clock)
            self.engine.prefetch(replace(request, prefix=request.prefix[:line]), limit)
        self._type(request)
        started = self.clock()
        passes: list[PassState] = []
        answer = self.engine.answer(request, Deadline.after_ms(self.budget_ms, clock=self.clock), passes.append)
        elapsed_ms = 1000 * (self.clock() - started)
        return self._reply(answer, request, question.hole, elapsed_ms, len(passes))

    def _type(self, request: InfillRequest) -> None:
        """Ask at the places that the user came through by typing the end of the line so far."""
        line = last_line(request.prefix).lstrip()
        for back in range(min(self.typed, len(line)), 0, -1):
            earlier = replace(request, prefix=request.prefix[:-back], hole=None, drafts=None)
            deque(self.engine.continue_search(earlier, Deadline.after_ms(self.pause_ms, clock=self.clock)), maxlen=0)
            self.engine.forget_answers()

    def _reply(self, answer: Answer, request: InfillRequest, hole: Hole, elapsed_ms: float, passes: int) -> Reply:
        candidates = answer.candidates
        return Reply(
            texts=tuple(candidate.text for candidate in candidates),
            confidences=tuple(round(candidate.confidence, 5) for candidate in candidates),
            sources=tuple(candidate.source.value for candidate in candidates),
            partial=tuple(candidate.partial for candidate in candidates),
            elapsed_ms=elapsed_ms,
            reason="" if answer.reason is None else answer.reason.value,
            proposals=_weighed(self.engine.proposals or [], replace(request, hole=hole)),
            extra={
                "read_ms": round(answer.read_ms, 2),
                "compute_ms": round(answer.compute_ms, 2),
                "passes": passes,
            },
        )


def _weighed(proposals: list[ProposedText], request: InfillRequest) -> tuple[dict[str, Any], ...]:
    """Return every distinct cleaned text with its features."""
    hole = request.hole
    assert hole is not None
    kept = [proposal for proposal, dropped_by in cleaned(proposals, request, hole) if dropped_by is None]
    weighed = evidence(kept, request, hole)
    return tuple({"text": proposal.text, "features": asdict(features)} for proposal, features in weighed)


def reply(question: Question, texts: Sequence[tuple[str, float]], started: float) -> Reply:
    """Return the distinct cleaned texts, with a confidence from their mean log-probabilities."""
    kept: dict[str, float] = {}
    for text, logprob in texts:
        insertable = clean(text, question.request, question.hole)
        if insertable is not None:
            kept.setdefault(insertable, float(np.exp(logprob)))
    elapsed = 1000 * (perf_counter() - started)
    shown = list(kept)[: question.request.candidates]
    return Reply(tuple(shown), tuple(round(kept[text], 5) for text in shown), elapsed_ms=elapsed)
