"""The denoising loop: predict every open slot at once, commit the confident ones, repeat, stop in time.

    canvas, all open ──▶ predict ──▶ commit confident slots, reopen wrong ones ──▶ … ──▶ none open, or no time left

The loop is anytime: after every step, the canvas together with the last predictions is an answer. Between two steps it
checks whether the deadline allows another one. It never starts a step that the measured cost says cannot end in time.

Which slots a step predicts, and when a row is done, depends on the kind of model (`orders`).
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import Choice, Costs, Job, OutOfTime, PassState, Phase, Work
from infill_engine.models.base import CanvasModel, Context, ModelInfo
from infill_engine.models.canvas.canvas import Canvas, SlotState
from infill_engine.sampling.canvas.constraints import Constraints
from infill_engine.sampling.canvas.orders import Ints, order_of, to_commit, to_doubt
from infill_engine.sampling.canvas.prediction import SlotPredictions, read
from infill_engine.settings import TEMPERATURE
from infill_engine.types import Draft


@dataclass(frozen=True, slots=True)
class Row:
    """How one row of the canvas starts.

    `tokens` are the ids of `draft`; None starts from masks. `branch` makes the row take the second choice at the slot
    where that is most probable. `sampled` draws its tokens at TEMPERATURE instead of taking the best.
    """

    slots: int
    length_logprob: float = 0.0
    tokens: tuple[int, ...] | None = None
    draft: Draft | None = None
    branch: bool = False
    sampled: bool = False


@dataclass(slots=True)
class Step:
    """The state after a step, per slot [M].

    `predicted` and its log-probability fill the slots that are still open. `draft_logprob` is the model's score for the
    tokens of a draft before it changed any. `changed` says which slots this step wrote.
    """

    number: int
    canvas: Canvas
    predicted: Ints
    predicted_logprob: NDArray[np.float32]
    draft_logprob: NDArray[np.float32]
    changed: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DenoisingTask:
    """What is denoised: a canvas of `rows` in an encoded `context`."""

    context: Context
    canvas: Canvas
    rows: Sequence[Row]
    constraints: Constraints


def denoise(model: CanvasModel, task: DenoisingTask, costs: Costs, due: Deadline | None = None) -> Job[Step | None]:
    """Return the canvas after the last step, when all is decided or time is up; None if there is no time for a step.

    Yields the state after every step. Steps end by `due`, or by the request's deadline if that is None. `costs` are
    their expected costs.
    """
    canvas, constraints = task.canvas, task.constraints
    noise = _Noise(task.rows, seed=zlib.crc32(canvas.ids.tobytes()) ^ task.context.tokens)
    canvas.ids[canvas.state == SlotState.OPEN] = model.info.mask_id
    order = order_of(model.info, canvas)
    state, most_steps = _nothing_yet(canvas), order.most_steps
    while state.number < most_steps:
        steps_left = yield from _steps_left(model, task, costs, due, state.number, most_steps)
        constraints.may_grow = steps_left > 1
        wanted = order.wanted(steps_left)
        if not len(wanted):
            break
        try:
            yield Work(Phase.PASS, _step_size(model, task), due=due)
        except OutOfTime:
            break
        prediction = _predict(model, task, wanted, noise)
        before, was_open = canvas.ids.copy(), canvas.state == SlotState.OPEN
        _decide(task, wanted, prediction, steps_left, first=state.number == 0)
        order.decided(constraints)
        constraints.advance(model, canvas)
        canvas.ids[canvas.state == SlotState.OPEN] = model.info.mask_id
        if state.number == 0:
            state.draft_logprob[wanted] = prediction.held_logprob
        state.number += 1
        state.predicted[wanted], state.predicted_logprob[wanted] = prediction.best, prediction.best_logprob
        state.changed = (before != canvas.ids) & ~(was_open & (canvas.state == SlotState.OPEN))
        _resize(state, model.info, constraints)
        yield PassState(model, state)
    return state if state.number else None


def _step_size(model: CanvasModel, task: DenoisingTask) -> int:
    return model.step_size(task.context, task.canvas.lengths.tolist())


def _steps_left(
    model: CanvasModel, task: DenoisingTask, costs: Costs, due: Deadline | None, number: int, most: int
) -> Job[int]:
    """Return how many steps there is time for, at least 1, including the one about to start."""
    size, counts = _step_size(model, task), range(most - number, 1, -1)
    step_ms = costs.predict_ms(Phase.PASS, size)
    chosen = yield Choice(Work(Phase.PASS, size, (count - 1) * step_ms, due) for count in counts)
    return 1 if chosen is None else counts[chosen]


def _predict(model: CanvasModel, task: DenoisingTask, wanted: Ints, noise: "_Noise") -> SlotPredictions:
    """Return the model's prediction for the `wanted` positions, within the constraints."""
    canvas = task.canvas
    logits = model.denoise(task.context, canvas, wanted)
    logits = task.constraints.apply(model, logits, canvas, wanted.tolist())
    return read(logits, canvas.ids[wanted], noise.of(canvas.row[wanted], logits))


def _nothing_yet(canvas: Canvas) -> Step:
    unknown = np.full(canvas.slots, -1e4, np.float32)
    return Step(0, canvas, canvas.ids.copy(), unknown, unknown.copy(), np.ones(canvas.slots, bool))


def _resize(step: Step, info: ModelInfo, constraints: Constraints) -> None:
    """Add slots where the model expanded one and remove the slots that it deleted."""
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
    task: DenoisingTask,
    wanted: Ints,
    prediction: SlotPredictions,
    steps_left: int,
    *,
    first: bool,
) -> None:
    """Commit, keep or reopen slots, according to the prediction for the `wanted` positions."""
    canvas, constraints = task.canvas, task.constraints
    # In the last step no slot may wait any longer. A text that does not continue the partial word is dropped later.
    ready = [steps_left == 1 or not constraints.waits(canvas, int(position)) for position in wanted]
    candidates = np.flatnonzero((canvas.state[wanted] == SlotState.OPEN) & np.array(ready))
    _check_filled(canvas, wanted, prediction, reopen=steps_left > 1)
    tokens, logprobs = prediction.best.copy(), prediction.best_logprob.copy()
    rows_of = canvas.row[wanted[candidates]]
    chosen = candidates[to_commit(prediction.part(candidates), rows_of, steps_left)]
    if first:
        branches = [
            _cheapest_branch(candidates[rows_of == row], prediction)
            for row, plan in enumerate(task.rows)
            if plan.branch
        ]
        taken = np.array([at for at in branches if at is not None], dtype=np.int64)
        tokens[taken], logprobs[taken] = prediction.second[taken], prediction.second_logprob[taken]
        # A branch has no effect unless it is taken before the row has converged on the first choice.
        chosen = np.union1d(chosen, taken)
    canvas.ids[wanted[chosen]] = tokens[chosen]
    canvas.logprob[wanted[chosen]] = logprobs[chosen]
    canvas.state[wanted[chosen]] = SlotState.COMMITTED


def _check_filled(canvas: Canvas, wanted: Ints, prediction: SlotPredictions, *, reopen: bool) -> None:
    """Accept drafts with the model's own probability, and reopen slots whose token the model now finds wrong."""
    filled = np.flatnonzero((canvas.state[wanted] == SlotState.DRAFT) | (canvas.state[wanted] == SlotState.COMMITTED))
    positions = wanted[filled]
    was_draft = canvas.state[positions] == SlotState.DRAFT
    canvas.logprob[positions[was_draft]] = prediction.held_logprob[filled[was_draft]]
    canvas.state[positions] = SlotState.COMMITTED
    if reopen:
        doubted = positions[to_doubt(prediction.part(filled))]
        canvas.state[doubted] = SlotState.OPEN


def _cheapest_branch(members: Ints, prediction: SlotPredictions) -> int | None:
    """Return the slot with the most probable second choice: the cheapest way to a different text."""
    return int(members[np.argmax(prediction.second_logprob[members])]) if len(members) else None


class _Noise:
    """Gumbel noise for the sampled rows, from a seed that depends only on the request."""

    def __init__(self, rows: Sequence[Row], seed: int) -> None:
        self._sampled = np.array([row.sampled for row in rows])
        self._generator = torch.Generator().manual_seed(seed)

    def of(self, rows: Ints, logits: torch.Tensor) -> torch.Tensor | None:
        members = np.flatnonzero(self._sampled[rows])
        if not len(members):
            return None
        uniform = torch.rand(len(members), logits.shape[1], generator=self._generator).clamp(1e-9, 1 - 1e-9)
        noise = torch.zeros_like(logits)
        noise[members] = (-torch.log(-torch.log(uniform)) * TEMPERATURE).to(logits.device)
        return noise


def copies_of_slots(canvas: Canvas, info: ModelInfo) -> Ints | None:
    """Return how many slots each slot becomes, [M]; None if nothing changes.

    A slot decided as the end token is removed, one decided as the expand token becomes two (DreamOn,
    huggingface.co/Dream-org/DreamOn-v0-7B). Every row keeps at least one slot.
    """
    if info.expand_id is None:
        return None
    decided = canvas.state == SlotState.COMMITTED
    deleted = decided & (canvas.ids == info.eos_id)
    expanded = decided & (canvas.ids == info.expand_id)
    if not (deleted.any() or expanded.any()):
        return None
    copies = np.where(deleted, 0, np.where(expanded, 2, 1))
    for row in range(canvas.rows):
        if not copies[canvas.span(row)].any():
            copies[canvas.span(row).start] = 1
    return copies


def resize(canvas: Canvas, copies: Ints, info: ModelInfo) -> None:
    """Repeat every slot as often as `copies` says; slots that held an expand or end token become open."""
    undone = (canvas.state == SlotState.COMMITTED) & ((canvas.ids == info.eos_id) | (canvas.ids == info.expand_id))
    canvas.ids[undone], canvas.state[undone] = info.mask_id, SlotState.OPEN
    canvas.logprob[undone] = 0.0
    canvas.ids, canvas.state = np.repeat(canvas.ids, copies), np.repeat(canvas.state, copies)
    canvas.logprob, canvas.row = np.repeat(canvas.logprob, copies), np.repeat(canvas.row, copies)
    canvas.lengths = np.bincount(canvas.row, minlength=canvas.rows)
    canvas.index = np.concatenate([np.arange(length) for length in canvas.lengths])
