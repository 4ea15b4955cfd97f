"""Which rows a canvas gets: lengths, branches and drafts, as many as the budget can denoise."""

from collections.abc import Sequence
from dataclasses import replace

from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import Choice, Costs, Job, Phase, Work
from infill_engine.models.base import CanvasModel, Context, Order, ProposedLength
from infill_engine.models.canvas.canvas import Canvas, lay_out
from infill_engine.sampling.canvas.denoise import Row
from infill_engine.types import Draft

DRAFT_ROWS = 2
DRAFT_LENGTH_LOGPROB = -0.7  # a copy brings its own length, which no head predicts; about half of them are right
WORTHWHILE_STEPS = 3  # a canvas too wide for this many steps is narrowed

# For each row: the index of a proposed length, and what makes the row differ from others of the same length. Another
# length or a branch changes more than temperature does.
PATTERN = ((0, ""), (1, ""), (0, "branch"), (2, ""), (0, "sampled"), (1, "branch"), (1, "sampled"), (2, "branch"))
PATTERN_IN_ORDER = ((0, ""), (0, "branch"), *((0, "sampled"),) * 6)  # if rows find their length themselves


def plan_rows(
    model: CanvasModel,
    lengths: Sequence[ProposedLength],
    drafts: Sequence[Draft],
    partial_word: str,
    candidates: int,
    max_slots: int,
) -> list[Row]:
    """Return rows in order of value: the best length first, then the drafts, then the other lengths and branches."""
    most, in_order = min(max_slots, model.info.max_slots), model.info.order is Order.LEFT_TO_RIGHT
    usable = (
        [replace(length, slots=min(length.slots, most)) for length in lengths]
        if in_order  # the proposed length is only an upper bound
        else [length for length in lengths if length.slots <= most]
    )
    if lengths and not usable:
        usable = [replace(lengths[0], slots=most)]
    if not model.info.branches:
        return [Row(length.slots, length.logprob) for length in lengths[:candidates]]
    pattern = PATTERN_IN_ORDER if in_order else PATTERN
    least = len(model.vocabulary.encode(partial_word)) + 1 if partial_word else 1
    fresh = [
        Row(max(length.slots, least), length.logprob, branch=how == "branch", sampled=how == "sampled")
        for which, how in pattern[: max(2, candidates + 1)]
        if which < len(usable) and (length := usable[which])
    ]
    copies = [row for draft in drafts[:DRAFT_ROWS] if (row := _draft_row(model, draft, partial_word, most))]
    return [*fresh[:1], *copies, *fresh[1:]]


def affordable(
    model: CanvasModel, context: Context, rows: Sequence[Row], costs: Costs, due: Deadline | None = None
) -> Job[list[Row]]:
    """Return the leading rows whose canvas leaves time for WORTHWHILE_STEPS steps until `due`; at least one row."""

    def first_step(count: int) -> Work:
        size = model.step_size(context, [row.slots for row in rows[:count]])
        return Work(Phase.PASS, size, (WORTHWHILE_STEPS - 1) * costs.predict_ms(Phase.PASS, size), due)

    counts = range(len(rows), 1, -1)
    chosen = yield Choice(map(first_step, counts))
    return list(rows[: 1 if chosen is None else counts[chosen]])


def canvas_of(rows: Sequence[Row], mask_id: int) -> Canvas:
    """Return the initial canvas of `rows`."""
    return lay_out([row.slots if row.tokens is None else row.tokens for row in rows], mask_id)


def _draft_row(model: CanvasModel, draft: Draft, partial_word: str, max_slots: int) -> Row | None:
    """Return the draft as a row, with an end-of-hole token if the model copies it; None if it is too long."""
    end = [model.info.eos_id] if model.info.copies_end else []
    ids = [*model.vocabulary.encode(partial_word + draft.text), *end]
    if not ids or len(ids) > max_slots + 1:
        return None
    return Row(len(ids), DRAFT_LENGTH_LOGPROB, tuple(ids), draft)
