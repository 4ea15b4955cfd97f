"""How a canvas model answers one request: from both sides of a hole to proposals.

encode both sides ──▶ write drafts ──▶ plan the canvas ──▶ denoise ──▶ score every text
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.budget.work import Budget, Costs, Job, OutOfTime, Phase, within
from infill_engine.context.project_counts import CountedSurroundings
from infill_engine.models.base import CanvasModel, Context, ModelDraft, ProposedLength, WritesDrafts
from infill_engine.sampling.denoising.constraints import constraints_for
from infill_engine.sampling.denoising.denoise import Row, Step, Task, TimeFrame, denoise
from infill_engine.sampling.denoising.plan import WORTHWHILE_STEPS, affordable, canvas_of, plan_rows
from infill_engine.sampling.denoising.read_canvas import originals_of, proposals_of, unread_own
from infill_engine.sampling.proposals import Proposals, unread, unscored
from infill_engine.settings import SamplerSettings
from infill_engine.text.lines import first_line
from infill_engine.types import Draft, Hole, InfillRequest, Proposal, Source, Surroundings

OWN_DRAFTS = 6  # texts that the model generates itself before the canvas is laid out
USUAL_TOKENS = 4  # of a correct line; without time for this many tokens no draft is started
LOOKS = 1  # steps that must still fit afterwards
SCORED_TOKENS = 32  # usual total of all texts, which are read once more at the end
STEPS_BESIDE_OWN = 2  # with such drafts, further steps bring no improvement


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """What fits into memory: rows of a canvas, and slots of each row."""

    rows: int
    slots: int


@dataclass(frozen=True, slots=True)
class _Read:
    """A request whose context has been encoded, up to the `partial_word` at the cursor."""

    context: Context
    partial_word: str
    request: InfillRequest
    hole: Hole
    drafts: tuple[Draft, ...]
    budget: Budget
    due: Deadline  # for everything except reading and scoring


class CanvasSampler:
    """A loaded model, its measured costs, and the text it has counted. One request at a time."""

    def __init__(self, model: CanvasModel, settings: SamplerSettings, limit: MemoryLimit) -> None:
        self.model = model
        self.limit = limit
        self.costs = Costs()
        self._settings = settings
        self._surroundings = CountedSurroundings(model.vocabulary.encode)

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """Count the text around a document, for requests that name it; yields about every 2 ms."""
        return self._surroundings.count(surroundings)

    def propose(self, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...], budget: Budget) -> Job[Proposals]:
        """Return all texts found for a hole in time."""
        began = now()
        try:
            context, partial_word = yield from self._encode(request)
        except OutOfTime:
            return Proposals(unread(drafts), since(began), unread=True)
        encode_ms = since(began)
        began = now()
        due = budget.deadline.sooner(self._settings.latency_target)
        proposals = yield from self._denoise(_Read(context, partial_word, request, hole, drafts, budget, due))
        # Another try is worthwhile if no canvas had time for a step, or if the surroundings were not counted yet.
        looked = not proposals or any(proposal.steps for proposal in proposals)
        counted = not (self.model.info.window.surroundings and request.surroundings) or self._near(request) is not None
        return Proposals(proposals, encode_ms, since(began), final=looked and counted)

    def read_ahead(self, request: InfillRequest) -> Job[None]:
        """Encode a request's two sides, so that a later request nearby finds them cached.

        Also reads the model's prompt, if it has one, and counts the text that candidates are scored by.
        """
        context, partial_word = yield from self._encode(request)
        if isinstance(self.model, WritesDrafts):
            yield from self.model.prompt(context)
            yield from self.model.count(request.around(partial_word))

    def _near(self, request: InfillRequest) -> Any:
        """Return the counts of the text that a request names; None if there are none yet."""
        return self._surroundings.get(request.surroundings)

    def _encode(self, request: InfillRequest) -> Job[tuple[Context, str]]:
        """Return the encoded context, with the prefix cut before the cursor's word, and the beginning of that word."""
        prefix, partial_word = self.model.vocabulary.split_partial_word(request.prefix)
        context = yield from self.model.encode(prefix, request.suffix)
        return context, partial_word

    def _denoise(self, read: _Read) -> Job[list[Proposal] | None]:
        """All proposals, or None if there was no time for even one step and nothing was retrieved or generated."""
        lengths = self.model.propose_lengths(read.context, read.hole.kind, read.request.candidates)
        prompt, written = yield from self._written(read)
        scoring_ms = 0.0 if prompt is None else self._scoring_ms()
        settings = self._settings
        if written:
            settings = replace(settings, max_steps=min(settings.max_steps, STEPS_BESIDE_OWN))
        rows = self._rows(read, lengths, written, read.budget.left_ms(read.due) - scoring_ms)
        if not rows:  # no length was proposed: the model has no suggestion here
            return []
        step = yield from self._last_step(read, rows, settings, scoring_ms)
        proposals = [
            *([] if step is None else proposals_of(self.model, step, rows, read.partial_word, settings)),
            *self._as_found(read, written, rows, step),
        ]
        if prompt is not None:
            proposals = yield from self._scored(proposals, prompt, read)
        return proposals or (None if step is None else [])

    def _last_step(self, read: _Read, rows: list[Row], settings: SamplerSettings, then_ms: float) -> Job[Step | None]:
        """Return the canvas as far as it can be denoised in time; None if there is no time for a single step."""
        canvas = canvas_of(rows, self.model.info.mask_id)
        constraints = constraints_for(self.model, read.hole, canvas, read.partial_word)
        task = Task(read.context, read.hole.kind, canvas, rows, constraints)
        return (yield from denoise(self.model, task, settings, TimeFrame(read.budget, read.due, then_ms)))

    def _rows(self, read: _Read, lengths: list[ProposedLength], written: list[ModelDraft], time_ms: float) -> list[Row]:
        """Return the rows of the canvas, as many as memory and time allow."""
        request, steps = read.request, LOOKS if written else WORTHWHILE_STEPS
        most = self.limit.slots
        rows = plan_rows(self.model, lengths, read.drafts, written, read.partial_word, request.candidates, most)
        return affordable(self.model, read.context, rows[: self.limit.rows], self.costs, time_ms, steps)

    def _as_found(
        self, read: _Read, written: list[ModelDraft], rows: list[Row], step: Step | None
    ) -> Iterator[Proposal]:
        """Yield all drafts as retrieved or generated, including those without memory or time for a canvas row."""
        seen = [] if step is None else originals_of(self.model, step, rows, read.partial_word)
        yield from seen
        copies = {proposal.text for proposal in seen if proposal.source is Source.RETRIEVAL}
        own = {proposal.text for proposal in seen if proposal.source is Source.MODEL}
        yield from (unscored(draft) for draft in read.drafts if draft.text not in copies)
        yield from (
            proposal for proposal in unread_own(self.model, written, read.partial_word) if proposal.text not in own
        )

    def _written(self, read: _Read) -> Job[tuple[Any, list[ModelDraft]]]:
        """The prompt and the model's own drafts, if the hole is a single line and there is time to denoise them too.

        The prompt is None if the model writes no drafts for this hole or time is too short.
        """
        if read.hole.max_lines > 1 or not isinstance(self.model, WritesDrafts):
            return None, []
        looking_ms = LOOKS * self.costs.predict_ms(Phase.PASS, self.model.info.max_slots * 2)
        afterwards_ms = looking_ms + self._scoring_ms()
        writing_ms = USUAL_TOKENS * self.costs.predict_ms(Phase.WRITE, OWN_DRAFTS)
        if read.budget.left_ms(read.due) < afterwards_ms + writing_ms:
            self.costs.relent(Phase.WRITE)
            return None, []
        try:
            prompt = yield from within(self.model.prompt(read.context), read.due, afterwards_ms + writing_ms)
        except OutOfTime:
            return None, []
        right = first_line(read.request.suffix)
        writing = self.model.write_drafts(prompt, read.partial_word, right, OWN_DRAFTS)
        return prompt, (yield from within(writing, read.due, afterwards_ms))

    def _scoring_ms(self) -> float:
        """Return the expected milliseconds of `_scored`."""
        return self.costs.predict_ms(Phase.READ, SCORED_TOKENS)

    def _scored(self, proposals: list[Proposal], prompt: Any, read: _Read) -> Job[list[Proposal]]:
        """Return the proposals, each with the likelihood of its text if there is time to compute it."""
        assert isinstance(self.model, WritesDrafts)
        texts = list(dict.fromkeys(proposal.text for proposal in proposals if not proposal.partial))
        request = read.request
        right, project = first_line(request.suffix), self._near(request)
        try:
            near = yield from self.model.count(request.around(read.partial_word))
            found = yield from self.model.score(prompt, read.partial_word, right, texts, near, project)
        except OutOfTime:
            return proposals
        likelihoods = dict(zip(texts, found, strict=True))
        return [replace(proposal, logprob=likelihoods.get(proposal.text)) for proposal in proposals]
