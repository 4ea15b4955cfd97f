"""Rows that change their length between two steps, for models that can insert and delete slots.

A slot decided as the end token is removed; one decided as the expand token becomes two open slots (DreamOn,
huggingface.co/Dream-org/DreamOn-v0-7B). All per-slot arrays are resized along with it.
"""

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.base import ModelInfo
from infill_engine.models.canvas.canvas import Canvas, State

Ints = NDArray[np.int64]


def copies_of_slots(canvas: Canvas, info: ModelInfo) -> Ints | None:
    """Return how many slots each slot becomes, [M]: 0, 1 or 2; None if nothing changes.

    Every row keeps at least one slot.
    """
    if info.expand_id is None:
        return None
    decided = canvas.state == State.COMMITTED
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
    undone = (canvas.state == State.COMMITTED) & ((canvas.ids == info.eos_id) | (canvas.ids == info.expand_id))
    canvas.ids[undone], canvas.state[undone] = info.mask_id, State.OPEN
    canvas.logprob[undone] = 0.0
    canvas.ids, canvas.state = np.repeat(canvas.ids, copies), np.repeat(canvas.state, copies)
    canvas.logprob, canvas.row = np.repeat(canvas.logprob, copies), np.repeat(canvas.row, copies)
    canvas.lengths = np.bincount(canvas.row, minlength=canvas.rows)
    canvas.index = np.concatenate([np.arange(length) for length in canvas.lengths])
