"""Which rows a canvas gets: lengths, branches and drafts, as many as the budget can denoise."""

from collections.abc import Sequence

from infill_engine.canvas.canvas import Canvas, lay_out
from infill_engine.deadline import CostModel
from infill_engine.models.base import Continuation, ModelFamily, ProposedLength
from infill_engine.sampler.denoise import Row
from infill_engine.types import Draft

DRAFT_ROWS = 2
DRAFT_LENGTH_LOGPROB = -0.7  # a copy brings its own length: no head is asked, about every other one is right
WORTHWHILE_STEPS = 3  # a canvas so wide that fewer fit the budget is narrowed

# Row after row: which proposed length, and what makes the row differ from another of the same length. Another length
# or a branch changes more than temperature does.
PATTERN = ((0, ""), (1, ""), (0, "branch"), (2, ""), (0, "sampled"), (1, "branch"), (1, "sampled"), (2, "branch"))


def plan_rows(
    family: ModelFamily,
    lengths: Sequence[ProposedLength],
    drafts: Sequence[Draft],
    written: Sequence[Continuation],
    partial_word: str,
    candidates: int,
    max_slots: int,
) -> list[Row]:
    """Rows in order of worth: the best length first, then the drafts, then the other lengths and branches.

    `written` are drafts of the family's own; each takes the place of a row that would start from nothing.
    """
    usable = [length for length in lengths if length.slots <= min(max_slots, family.spec.max_slots)]
    if not family.spec.branches:
        return [Row(length.slots, length.logprob) for length in lengths[:candidates]]
    least = len(family.vocabulary.encode(partial_word)) + 1 if partial_word else 1
    fresh = [
        Row(max(length.slots, least), length.logprob, branch=how == "branch", sampled=how == "sampled")
        for which, how in PATTERN[: max(2, candidates + 1 - len(written))]
        if which < len(usable) and (length := usable[which])
    ]
    copies = [row for draft in drafts[:DRAFT_ROWS] if (row := _draft_row(family, draft, partial_word, max_slots))]
    own = [row for one in written if (row := _written_row(family, one, max_slots))]
    return [*fresh[:1], *copies, *own, *fresh[1:]]


def affordable(rows: Sequence[Row], costs: CostModel, budget_ms: float) -> list[Row]:
    """The leading rows whose canvas leaves time for a worthwhile number of steps; at least one."""
    kept = list(rows)
    while len(kept) > 1 and costs.predict_ms(sum(row.slots for row in kept)) * WORTHWHILE_STEPS > budget_ms:
        kept.pop()
    return kept


def canvas_of(rows: Sequence[Row], mask_id: int) -> Canvas:
    """The canvas that `rows` start from."""
    return lay_out([row.slots if row.tokens is None else row.tokens for row in rows], mask_id)


def _draft_row(family: ModelFamily, draft: Draft, partial_word: str, max_slots: int) -> Row | None:
    """The draft as a row that ends in one end-of-hole token, or None if it is too long."""
    ids = [*family.vocabulary.encode(partial_word + draft.text), family.spec.eos_id]
    if len(ids) > max_slots + 1:
        return None
    return Row(len(ids), DRAFT_LENGTH_LOGPROB, tuple(ids), draft)


def _written_row(family: ModelFamily, written: Continuation, max_slots: int) -> Row | None:
    ids = (*written.tokens, family.spec.eos_id)
    return Row(len(ids), written.logprobs[-1], ids, written=written) if len(ids) <= max_slots + 1 else None
