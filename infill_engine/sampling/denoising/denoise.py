"""The denoising loop: predict every open slot at once, commit the confident ones, repeat, stop in time.

    canvas, all open ──▶ predict ──▶ commit confident slots, reopen wrong ones ──▶ … ──▶ none open, or no time left

For models that decide slots in order, each step predicts only the first open slot of each row, and a row is done at its
first end token; everything else is the same (`_wanted_in_order`, `_keep_order`).

The loop is anytime: after every step, the canvas together with the last predictions is an answer. Between two steps it
checks whether the deadline allows another one. It never starts a step that the measured cost says cannot end in time.

If open slots hold noise instead of a mask, a model cannot tell decided slots from open ones, and its first predictions
depend on the noise. For these models nothing stays decided: every step predicts all slots again, keeps the confident
ones and draws new noise for the others, and a row is done when it has settled (`Convergence`).
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import Budget, Job, OutOfTime, PassState, Phase, Work
from infill_engine.models.base import (
    CanvasModel,
    ConditionsItself,
    Context,
    Corruption,
    ModelDraft,
    ModelInfo,
    Order,
    corruptor_of,
    step_size,
)
from infill_engine.models.canvas.canvas import Canvas, State
from infill_engine.sampling.denoising.constraints import Constraints
from infill_engine.sampling.denoising.convergence import Convergence
from infill_engine.sampling.denoising.resize import copies_of_slots, resize
from infill_engine.sampling.denoising.unmasking import to_commit, to_doubt
from infill_engine.sampling.prediction import Prediction, read
from infill_engine.settings import SamplerSettings
from infill_engine.types import Draft, HoleKind

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Row:
    """How one row of the canvas starts.

    `tokens` are the ids of `draft` or of `written`, the model's own draft; None starts from masks. `branch` makes the
    row take the second choice at the slot where that is most probable; `sampled` draws its tokens at the settings'
    temperature instead of taking the best.
    """

    slots: int
    length_logprob: float = 0.0
    tokens: tuple[int, ...] | None = None
    draft: Draft | None = None
    written: ModelDraft | None = None
    branch: bool = False
    sampled: bool = False


@dataclass(slots=True)
class Step:
    """The state after a step, per slot [M].

    `predicted` and its log-probability fill the slots that are still open. `draft_logprob` is the model's score for the
    tokens of a draft before it changed any. `changed` tells which slots this step wrote.
    """

    number: int
    canvas: Canvas
    predicted: Ints
    predicted_logprob: NDArray[np.float32]
    draft_logprob: NDArray[np.float32]
    changed: NDArray[np.bool_]


def denoise(
    model: CanvasModel,
    context: Context,
    kind: HoleKind,
    canvas: Canvas,
    rows: Sequence[Row],
    constraints: Constraints,
    settings: SamplerSettings,
    budget: Budget,
    due: Deadline | None = None,
    then_ms: float = 0.0,
) -> Job[Step | None]:
    """The canvas after the last step, when all is decided or time is up; None if there was no time for any step.

    Steps end before `due` and leave `then_ms` of it. Yields the state after every step.
    """
    noise = _Noise(rows, settings.temperature, seed=zlib.crc32(canvas.ids.tobytes()) ^ context.tokens)
    corruptor = corruptor_of(model.info, canvas.rows, seed=context.tokens)
    corruptor.fill(canvas)
    convergence = Convergence(canvas, settings) if model.info.corruption is Corruption.UNIFORM else None
    state = _nothing_yet(canvas)
    ordered = model.info.order is Order.LEFT_TO_RIGHT
    most_steps = int(canvas.lengths.max(initial=0)) if ordered else settings.max_steps
    while state.number < most_steps:
        size = step_size(model, context, canvas.lengths.tolist(), state.number)
        later_size = step_size(model, context, canvas.lengths.tolist(), state.number + 1)
        cost, later_cost = (budget.costs.predict_ms(Phase.PASS, each) for each in (size, later_size))
        time_ms = budget.left_ms(due) - then_ms
        steps_left = max(1, min(most_steps - state.number, 1 + int((time_ms - cost) / max(later_cost, 0.01))))
        constraints.may_grow = steps_left > 1
        if convergence is not None:
            wanted = convergence.wanted(canvas)
        else:
            wanted = _wanted_in_order(canvas) if ordered else _wanted(canvas, doubting=steps_left > 1)
        if not len(wanted):
            break
        try:
            yield Work(Phase.PASS, size, then_ms, due)
        except OutOfTime:
            break
        logits = model.denoise(context, kind, canvas, wanted)
        logits = constraints.apply(model, logits, canvas, wanted.tolist())
        if model.info.temperatures != (1.0, 1.0):
            logits = logits / _temperature(model.info, state.number, steps_left)
        if isinstance(model, ConditionsItself):
            model.condition(context, canvas, wanted, logits)
        prediction = read(logits, canvas.ids[wanted], noise.of(canvas.row[wanted], logits))
        before, was_open = canvas.ids.copy(), canvas.state == State.OPEN
        if convergence is not None:
            convergence.reopen(canvas, wanted)
        taken = _decide(canvas, wanted, prediction, rows, constraints, settings, steps_left, first=state.number == 0)
        if ordered:
            _keep_order(canvas, constraints)
        constraints.advance(model, canvas)
        if convergence is not None:
            convergence.settle(canvas, wanted, prediction, constraints, taken)
        corruptor.fill(canvas)
        if state.number == 0:
            state.draft_logprob[wanted] = prediction.held_logprob
        state.number += 1
        state.predicted[wanted], state.predicted_logprob[wanted] = prediction.best, prediction.best_logprob
        state.changed = (before != canvas.ids) & ~(was_open & (canvas.state == State.OPEN))
        _resize(state, model.info, constraints)
        yield PassState(model, state)
    return state if state.number else None


def _temperature(info: ModelInfo, steps: int, steps_left: int) -> float:
    first, last = info.temperatures
    return last + (first - last) * steps_left / (steps + steps_left)


def _nothing_yet(canvas: Canvas) -> Step:
    unknown = np.full(canvas.slots, -1e4, np.float32)
    return Step(0, canvas, canvas.ids.copy(), unknown, unknown.copy(), np.ones(canvas.slots, bool))


def _wanted(canvas: Canvas, *, doubting: bool) -> Ints:
    """Flat positions whose logits a step needs: open slots, drafts, and in unfinished rows the slots it may reopen."""
    undecided = (canvas.state == State.OPEN) | (canvas.state == State.DRAFT)
    unfinished = np.zeros(canvas.rows, bool)
    unfinished[canvas.row[undecided]] = True
    doubtful = (canvas.state == State.COMMITTED) & unfinished[canvas.row]
    return np.flatnonzero(undecided | doubtful if doubting else undecided)


def _wanted_in_order(canvas: Canvas) -> Ints:
    """The first open slot of each row, and the drafts before it: a copy is read, and so verified, in one step."""
    is_open = canvas.state == State.OPEN
    opened = np.cumsum(is_open)
    before_row = np.concatenate([[0], opened])[np.cumsum(canvas.lengths) - canvas.lengths]
    number = opened - before_row[canvas.row]  # the number of open slots in the row up to this one
    return np.flatnonzero((is_open & (number == 1)) | ((canvas.state == State.DRAFT) & (number == 0)))


def _keep_order(canvas: Canvas, constraints: Constraints) -> None:
    """Reopens all slots after an open one, since they depend on its token, and ends rows at their end token."""
    for row in range(canvas.rows):
        span = canvas.span(row)
        ids, state = canvas.ids[span], canvas.state[span]
        is_open = np.flatnonzero(state == State.OPEN)
        decided = int(is_open[0]) if len(is_open) else len(ids)
        ends = np.flatnonzero(constraints.is_last(ids[:decided]))
        rest = np.arange(decided if not len(ends) else int(ends[0]) + 1, len(ids)) + span.start
        rest = rest[canvas.state[rest] != State.FIXED]
        if len(ends):
            canvas.ids[rest], canvas.state[rest], canvas.logprob[rest] = constraints.eos_id, State.COMMITTED, 0.0
        else:
            canvas.state[rest] = State.OPEN


def _resize(step: Step, info: ModelInfo, constraints: Constraints) -> None:
    """Adds slots where the model expanded one and removes the slots that it deleted."""
    copies = copies_of_slots(step.canvas, info)
    if copies is None:
        return
    resize(step.canvas, copies, info)
    first = np.cumsum(copies) - copies
    constraints.starts = {int(first[position]): start for position, start in constraints.starts.items()}
    step.predicted, step.predicted_logprob = (
        np.repeat(step.predicted, copies),
        np.repeat(step.predicted_logprob, copies),
    )
    step.draft_logprob, step.changed = np.repeat(step.draft_logprob, copies), np.repeat(step.changed, copies)


def _decide(
    canvas: Canvas,
    wanted: Ints,
    prediction: Prediction,
    rows: Sequence[Row],
    constraints: Constraints,
    settings: SamplerSettings,
    steps_left: int,
    *,
    first: bool,
) -> Ints:
    """Commits, keeps or reopens slots, according to the prediction for the `wanted` positions.

    Returns the flat positions where a row took a branch.
    """
    # In the last step no slot may wait any longer. A text that does not continue the partial word is dropped later.
    ready = [steps_left == 1 or not constraints.waits(canvas, int(position)) for position in wanted]
    candidates = np.flatnonzero((canvas.state[wanted] == State.OPEN) & np.array(ready))
    _check_filled(canvas, wanted, prediction, settings, reopen=steps_left > 1)
    tokens, logprobs = prediction.best.copy(), prediction.best_logprob.copy()
    rows_of = canvas.row[wanted[candidates]]
    chosen = candidates[to_commit(prediction.part(candidates), rows_of, steps_left, settings)]
    taken = np.empty(0, np.int64)
    if first:
        branches = [
            _cheapest_branch(candidates[rows_of == row], prediction) for row, plan in enumerate(rows) if plan.branch
        ]
        taken = np.array([at for at in branches if at is not None], dtype=np.int64)
        tokens[taken], logprobs[taken] = prediction.second[taken], prediction.second_logprob[taken]
        # A branch has no effect unless it is taken before the row has settled around the first choice.
        chosen = np.union1d(chosen, taken)
    canvas.ids[wanted[chosen]] = tokens[chosen]
    canvas.logprob[wanted[chosen]] = logprobs[chosen]
    canvas.state[wanted[chosen]] = State.COMMITTED
    return wanted[taken]


def _check_filled(
    canvas: Canvas, wanted: Ints, prediction: Prediction, settings: SamplerSettings, *, reopen: bool
) -> None:
    """Accepts drafts with the model's own probability, and reopens slots whose token the model now finds wrong."""
    filled = np.flatnonzero((canvas.state[wanted] == State.DRAFT) | (canvas.state[wanted] == State.COMMITTED))
    positions = wanted[filled]
    was_draft = canvas.state[positions] == State.DRAFT
    canvas.logprob[positions[was_draft]] = prediction.held_logprob[filled[was_draft]]
    canvas.state[positions] = State.COMMITTED
    if reopen:
        doubted = positions[to_doubt(prediction.part(filled), settings)]
        canvas.state[doubted] = State.OPEN


def _cheapest_branch(members: Ints, prediction: Prediction) -> int | None:
    """The slot with the most probable second choice: the cheapest way to a different text."""
    return int(members[np.argmax(prediction.second_logprob[members])]) if len(members) else None


class _Noise:
    """Gumbel noise for the sampled rows, from a seed that depends only on the request."""

    def __init__(self, rows: Sequence[Row], temperature: float, seed: int) -> None:
        self._sampled = np.array([row.sampled for row in rows])
        self._temperature = temperature
        self._generator = torch.Generator().manual_seed(seed)

    def of(self, rows: Ints, logits: torch.Tensor) -> torch.Tensor | None:
        members = np.flatnonzero(self._sampled[rows])
        if not len(members):
            return None
        uniform = torch.rand(len(members), logits.shape[1], generator=self._generator).clamp(1e-9, 1 - 1e-9)
        noise = torch.zeros_like(logits)
        noise[members] = (-torch.log(-torch.log(uniform)) * self._temperature).to(logits.device)
        return noise
