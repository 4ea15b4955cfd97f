"""How a canvas model answers one request: from both sides of a hole to proposals.

encode both sides ──▶ propose lengths ──▶ plan the canvas ──▶ denoise ──▶ read the texts
"""

from collections.abc import Iterator
from dataclasses import dataclass

from infill_engine.budget.deadline import Deadline, now, since
from infill_engine.budget.work import AskLimit, Costs, Job, OutOfTime, Phase
from infill_engine.models.base import CanvasModel, Context
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import DenoisingTask, Row, Step, denoise
from infill_engine.sampling.canvas.plan import affordable, canvas_of, plan_rows
from infill_engine.sampling.canvas.read_canvas import originals_of, proposals_of
from infill_engine.sampling.proposals import Proposals, unscored, unscored_drafts
from infill_engine.sampling.proposer import Capabilities, Proposer, Rehearsal
from infill_engine.types import ONE_HOLE, Draft, Hole, Holes, InfillRequest, ProposedText, Surroundings, TextRequest

WARM_UP_ROUNDS, WARM_UP_MS = 2, 5_000.0
LATENCY_TARGET = 0.67  # share of the time left after reading that the rest may take: the median matters


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """What fits into memory: rows of a canvas, and slots of each row."""

    rows: int
    slots: int


MEMORY_LIMITS = (MemoryLimit(64, 512), MemoryLimit(2, 16), MemoryLimit(1, 8))  # tried in this order


@dataclass(frozen=True, slots=True)
class _Read:
    """A request whose context has been encoded, up to the `partial_word` at the cursor."""

    context: Context
    partial_word: str
    request: TextRequest
    hole: Hole
    drafts: tuple[Draft, ...]
    due: Deadline  # for everything except reading


class CanvasSampler(Proposer):
    """A loaded model and its measured costs."""

    def __init__(self, model: CanvasModel) -> None:
        self.model = model
        self.costs = Costs()
        self._limits = list(MEMORY_LIMITS)  # the first one applies

    @property
    def can(self) -> Capabilities:
        """See `Proposer`."""
        return Capabilities(self.model.device, window=self.model.info.window)

    def propose(
        self,
        request: TextRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        holes: Holes = ONE_HOLE,  # noqa: ARG002
    ) -> Job[Proposals]:
        """Return all texts found for a hole in time."""
        began = now()
        try:
            context, partial_word = yield from self._encode(request)
        except OutOfTime:
            return Proposals(unscored_drafts(drafts), since(began), incomplete_context=True)
        read_ms = since(began)
        began = now()
        limit = yield AskLimit()
        due = limit.deadline.sooner(LATENCY_TARGET)
        proposals = yield from self._denoise(_Read(context, partial_word, request, hole, drafts, due))
        # Another try is worthwhile if no canvas had time for a step.
        looked = not proposals or any(proposal.passes for proposal in proposals)
        return Proposals(proposals, read_ms, since(began), final=looked)

    def prefetch(self, around: Surroundings) -> Job[None]:
        """Encode both sides, so that a later request nearby finds them cached."""
        yield from self._encode(around)

    def warm_up(self) -> Iterator[Rehearsal]:
        """See `Proposer`. Libraries initialise in the first request; the second one is measured, part by part."""
        for number in range(WARM_UP_ROUNDS):
            if number == 1:
                self.costs = Costs(first_share=1.0)  # the setup is done
            before = "".join(f"value_{line} = compute({line}, {number})\n" for line in range(30))
            yield Rehearsal(InfillRequest(f"{before}result = ", f"\n{before[:400]}"), WARM_UP_MS)

    def use_less_memory(self) -> str:
        """Limit the canvas further; see `Proposer`."""
        if len(self._limits) == 1:
            return ""
        del self._limits[0]
        return "it now gives fewer and shorter candidates. Free some memory, or choose the precision int8 or int4"

    def least_ms(self) -> float:
        """See `Proposer`."""
        return self.costs.best_ms(Phase.PASS, 1)

    def _encode(self, around: Surroundings) -> Job[tuple[Context, str]]:
        """Return the encoded context, with the prefix cut before the cursor's word, and the beginning of that word."""
        prefix, partial_word = self.model.vocabulary.split_partial_word(around.prefix)
        context = yield from self.model.encode(prefix, around.suffix)
        return context, partial_word

    def _denoise(self, read: _Read) -> Job[list[ProposedText] | None]:
        """Return all proposals; None if there was no time for even one step and nothing was retrieved."""
        limit = self._limits[0]
        lengths = self.model.propose_lengths(read.context, read.hole.kind, read.request.candidates)
        rows = plan_rows(self.model, lengths, read.drafts, read.partial_word, read.request.candidates, limit.slots)
        rows = yield from affordable(self.model, read.context, rows[: limit.rows], self.costs, read.due)
        if not rows:  # no length was proposed: the model has no suggestion here
            return []
        step = yield from self._last_step(read, rows)
        texts = [] if step is None else proposals_of(self.model, step, rows, read.partial_word)
        proposals = [*texts, *self._as_found(read, rows, step)]
        return proposals or (None if step is None else [])

    def _last_step(self, read: _Read, rows: list[Row]) -> Job[Step | None]:
        """Return the canvas as far as it can be denoised in time; None if there is no time for a single step."""
        canvas = canvas_of(rows, self.model.info.mask_id)
        constraints = constraints_for(self.model, read.hole, canvas, read.partial_word)
        task = DenoisingTask(read.context, canvas, rows, constraints)
        return (yield from denoise(self.model, task, self.costs, read.due))

    def _as_found(self, read: _Read, rows: list[Row], step: Step | None) -> Iterator[ProposedText]:
        """Yield all retrieved drafts as found, including those without memory or time for a canvas row."""
        seen = [] if step is None else originals_of(step, rows, self.model.info.copies_end)
        yield from seen
        copies = {proposal.text for proposal in seen}
        yield from (unscored(draft) for draft in read.drafts if draft.text not in copies)
