"""A family with scripted predictions, for tests and demonstrations that use the real loop.

    {"rules": [{"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]}], "steps": 1, "step_ms": 0, "load_ms": 0}

The first rule whose `before` ends the prefix applies; an empty `before` always does. Each of its candidates is proposed
as a length, and then revealed from left to right in `steps` denoising steps of `step_ms` each.
"""

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from infill_engine.budget.work import Job
from infill_engine.errors import InputError
from infill_engine.models.base import Context, Ints, ModelInfo, ProposedLength
from infill_engine.models.canvas.canvas import Canvas, SlotState
from infill_engine.types import HoleKind

MASK, EOS = 256, 257  # bytes are their own tokens
VOCABULARY = 258
SURE, UNSURE = 12.0, 6.0  # logits of a slot to commit now, and of one that has to wait
LATER = 0.001  # subtracted per slot to the right, so that rounding cannot change the order of equal slots


@dataclass(frozen=True, slots=True)
class Script:
    """Which candidates follow which text, and how slowly they are computed."""

    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    steps: int = 1
    step_ms: float = 0.0
    load_ms: float = 0.0
    crash_after: str | None = None  # the process exits if the prefix of a request ends with this


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

    def breaks_line(self, *, at_once: bool = False) -> Ints:  # noqa: ARG002
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
        time.sleep(script.load_ms / 1000)

    @classmethod
    def load(cls, path: str) -> "ScriptedModel":
        """Read a script; without a path, the built-in one. Raises InputError for a file that is not a script."""
        if not path:
            return cls(BUILT_IN)
        try:
            raw = json.loads(Path(path).read_text(encoding="utf-8"))
            rules = tuple((rule["before"], tuple(rule["candidates"])) for rule in raw.pop("rules"))
            return cls(Script(rules=rules, **raw))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is not a script ({error}); it needs {{'rules': [{{'before', 'candidates'}}]}}"
            ) from error

    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        if self.script.crash_after and prefix.endswith(self.script.crash_after):
            os._exit(70)
        yield from ()  # no step here takes time
        texts = next((texts for before, texts in self.script.rules if prefix.endswith(before)), ())
        return Context(self._with_lengths(texts), encoded=1, tokens=len(prefix) + len(suffix))

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:  # noqa: ARG002
        return [ProposedLength(slots, -5.0 * number) for number, slots in enumerate(context.state)][:limit]

    def step_size(self, context: Context, lengths: Sequence[int]) -> int:  # noqa: ARG002
        return sum(lengths)

    def denoise(self, context: Context, canvas: Canvas, wanted: Ints) -> Tensor:
        time.sleep(self.script.step_ms / 1000)
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


BUILT_IN = Script(
    rules=(
        ("return ", ("result", "self.value", "None")),
        (" = ", ("alpha(1)", "beta(2, 3)", "gamma")),
        ("(", ("first, second", "value")),
        ("", ("pass",)),
    )
)
