"""A canvas model that reveals the candidates of a script from left to right. Its tokens are bytes."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job
from infill_engine.models.base import Context, Ints, ModelInfo, ProposedLength
from infill_engine.models.canvas.canvas import Canvas, SlotState
from infill_engine.sampling.scripted import Script
from infill_engine.types import HoleKind

MASK, EOS = 256, 257  # bytes are their own tokens
VOCABULARY = 258
SURE, UNSURE = 12.0, 6.0  # logits of a slot to commit now, and of one that has to wait
LATER = 0.001  # subtracted per slot to the right, so that rounding cannot change the order of equal slots


class ByteVocabulary:
    """Implements `infill_engine.models.base.Vocabulary` over bytes."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode("utf-8", "replace"))

    def decode(self, ids: Sequence[int]) -> str | None:
        try:
            return bytes(ids).decode("utf-8")
        except ValueError:
            return None

    def split_partial_word(self, prefix: str) -> tuple[str, str]:
        return prefix, ""

    def completions_of(self, start: bytes) -> tuple[Ints, Ints]:
        first, nothing = np.array([start[0]]), np.empty(0, np.int64)
        return (first, nothing) if len(start) == 1 else (nothing, first)

    def bytes_of(self, token: int) -> bytes:
        return bytes([token]) if token < MASK else b""

    def breaks_line(self, *, at_once: bool = False) -> Ints:
        return np.array([ord("\n")])

    def never(self) -> Ints:
        return np.array([MASK])


class ScriptedModel:
    """Implements `infill_engine.models.base.CanvasModel`."""

    device = "cpu"

    def __init__(self, script: Script) -> None:
        self.script = script
        self.vocabulary = ByteVocabulary()
        self.info = ModelInfo("scripted", VOCABULARY, MASK, EOS, max_slots=512, branches=False)

    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        yield from ()  # no step here takes time
        return Context(self._with_lengths(self.script.candidates(prefix)), encoded=1, tokens=len(prefix) + len(suffix))

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:
        return [ProposedLength(slots, -5.0 * number) for number, slots in enumerate(context.state)][:limit]

    def step_size(self, context: Context, lengths: Sequence[int]) -> int:
        return sum(lengths)

    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> Tensor:
        logits = torch.zeros(len(wanted), VOCABULARY)
        for number, position in enumerate(wanted.tolist()):
            row, index = int(canvas.row[position]), int(canvas.index[position])
            length = int(canvas.lengths[row])
            text = context.state.get(length, b"")
            decided = int((canvas.state[canvas.span(row)] != SlotState.OPEN).sum())
            sure = index < decided + -(-length // self.script.steps)
            logits[number, text[index] if index < len(text) else EOS] = (SURE if sure else UNSURE) - LATER * index
        return logits

    def _with_lengths(self, texts: Sequence[str]) -> dict[int, bytes]:
        """Return each text under its own canvas length, so that a row's length identifies its text."""
        found: dict[int, bytes] = {}
        for text in texts:
            data = text.encode()
            length = len(data) + 1
            while length in found:
                length += 1
            found[length] = data
        return found
