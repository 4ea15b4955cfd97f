"""The canvas as plain values, step by step, for an observer.

Steps run under a deadline: without an observer, an infill only pays for one comparison of arrays.
"""

import codecs
from collections.abc import Callable, Sequence
from math import exp
from typing import TYPE_CHECKING, cast

from infill_engine.budget.work import Observer, PassState
from infill_engine.sampling.trunk.tree_nodes import TextPiece, TreeStep
from infill_engine.serving.protocol import PreviewRow
from infill_engine.types import Source

if TYPE_CHECKING:
    from infill_engine.models.base import CanvasModel
    from infill_engine.sampling.canvas.denoise import Step

PreviewRows = tuple[PreviewRow, ...]
OPEN = "open"
DRAFT = "draft"
COMMITTED = "committed"

_Slot = tuple[int, str, float]  # token, state, natural logarithm of its probability


def previewing(wanted: Callable[[], bool], show: Callable[[int, PreviewRows], None]) -> Observer:
    """Return a callback for `Engine.answer` that passes the canvas after every step to `show`, while it is `wanted`."""
    retrieved: frozenset[int] = frozenset()

    def observe(passed: PassState) -> None:
        nonlocal retrieved
        if isinstance(passed.state, TreeStep):
            if wanted():
                show(passed.state.number, tuple(map(_text_row, passed.state.texts)))
            return
        family, step = cast("CanvasModel", passed.model), cast("Step", passed.state)
        if step.number == 1:
            retrieved = _retrieved(step)
        if wanted():
            show(step.number, _rows(family, step, retrieved))

    return observe


def _text_row(pieces: Sequence[TextPiece]) -> PreviewRow:
    """Return one text of a search as a row.

    Tokens that the model has read are committed. Those that it or a block of masks proposes are open. Retrieved ones
    are drafts.
    """
    texts, states, confidences = [], [], []
    before, sure = b"", 0.0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for piece in pieces:
        texts.append(decoder.decode(piece.text[len(before) :]))
        known = piece.logprob
        if known is None and piece.denoised_logprob is not None:
            known = sure + piece.denoised_logprob
        states.append(DRAFT if known is None else COMMITTED if piece.seen else OPEN)
        confidences.append(0.0 if known is None else round(exp(min(0.0, known - sure)), 3))
        before, sure = piece.text, sure if known is None else known
    source = Source.RETRIEVAL if DRAFT in states else Source.MODEL
    return PreviewRow(tuple(texts), tuple(states), tuple(confidences), source)


def _rows(family: "CanvasModel", step: "Step", retrieved: frozenset[int]) -> PreviewRows:
    spans = map(step.canvas.span, range(step.canvas.rows))
    return tuple(
        _row(family, _slots(step, range(span.start, span.stop)), number in retrieved)
        for number, span in enumerate(spans)
    )


def _row(family: "CanvasModel", slots: Sequence[_Slot], retrieved: bool) -> PreviewRow:
    texts, states, confidences = [], [], []
    without_text = (family.info.eos_id, family.info.mask_id)
    # A character may begin in one slot and end in the next.
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for token, state, logprob in slots:
        data = b"" if token in without_text else family.vocabulary.bytes_of(token)
        texts.append(decoder.decode(data))
        states.append(state)
        confidences.append(round(exp(min(0.0, logprob)), 3))
        if token == family.info.eos_id and state != OPEN:
            break
    source = Source.RETRIEVAL if retrieved else Source.MODEL
    return PreviewRow(tuple(texts), tuple(states), tuple(confidences), source)


def _slots(step: "Step", span: range) -> list[_Slot]:
    from infill_engine.models.canvas.canvas import SlotState

    canvas = step.canvas
    slots: list[_Slot] = []
    for position in span:
        state = SlotState(int(canvas.state[position]))
        if state is SlotState.OPEN:
            slots.append((int(step.predicted[position]), OPEN, float(step.predicted_logprob[position])))
        else:
            slots.append((int(canvas.ids[position]), state.name.lower(), float(canvas.logprob[position])))
    return slots


def _retrieved(step: "Step") -> frozenset[int]:
    """Return the rows that still contain part of a draft after the first step."""
    from infill_engine.models.canvas.canvas import SlotState

    canvas = step.canvas
    return frozenset(canvas.row[(canvas.state != SlotState.OPEN) & ~step.changed].tolist())
