"""Rows that change their length between two steps, for models that can say where a slot is missing or too many.

A slot that was decided to be the model's delete token vanishes; one decided to be its expand token becomes two open
ones (DreamOn, huggingface.co/Dream-org/DreamOn-v0-7B). Everything that is kept per slot moves along.
"""

import numpy as np
from numpy.typing import NDArray

from infill_engine.canvas.canvas import Canvas, State
from infill_engine.models.base import ModelInfo

Ints = NDArray[np.int64]


def copies_of_slots(canvas: Canvas, info: ModelInfo) -> Ints | None:
    """How many slots each slot becomes, [M]: 0, 1 or 2. None if nothing changes. Every row keeps a slot."""
    decided = canvas.state == State.COMMITTED
    deleted = decided & (canvas.ids == info.delete_id)
    expanded = decided & (canvas.ids == info.expand_id)
    if not (deleted.any() or expanded.any()):
        return None
    copies = np.where(deleted, 0, np.where(expanded, 2, 1))
    for row in range(canvas.rows):
        if not copies[canvas.span(row)].any():
            copies[canvas.span(row).start] = 1
    return copies


def resize(canvas: Canvas, copies: Ints, info: ModelInfo) -> None:
    """Gives every slot as many places as `copies` says; what held an expand or a delete token is open."""
    undone = (canvas.state == State.COMMITTED) & ((canvas.ids == info.delete_id) | (canvas.ids == info.expand_id))
    canvas.ids[undone], canvas.state[undone] = info.mask_id, State.OPEN
    canvas.logprob[undone] = 0.0
    canvas.ids, canvas.state = np.repeat(canvas.ids, copies), np.repeat(canvas.state, copies)
    canvas.logprob, canvas.row = np.repeat(canvas.logprob, copies), np.repeat(canvas.row, copies)
    canvas.lengths = np.bincount(canvas.row, minlength=canvas.rows)
    canvas.index = np.concatenate([np.arange(length) for length in canvas.lengths])
