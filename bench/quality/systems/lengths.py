"""The source of canvas lengths: the model's own proposal, one fixed length, or the gold text's length.

predicted   what the product does; only this one measures the product
fixed:N     every row has N slots
oracle      the length a perfect length head would give: for duostream models the smallest bucket that holds the
            gold text's tokens, for others their number; never more than the engine allows
"""

from typing import Any

from torch import Tensor

from bench.quality.systems.product import Question
from infill_engine.budget.work import Job, OutOfTime
from infill_engine.context.ngrams import Ngrams
from infill_engine.errors import InputError
from infill_engine.models.base import (
    CanvasModel,
    Context,
    Ints,
    ModelDraft,
    ProposedLength,
    WritesDrafts,
)
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.small.network.dual_encoder import LENGTH_BUCKETS
from infill_engine.types import HoleKind


class GivenLengths:
    """Wraps a model family and proposes fixed lengths instead of the family's own. Implements `CanvasModel`."""

    def __init__(self, family: CanvasModel, slots: int = 1) -> None:
        self._family = family
        self.info = family.info
        self.vocabulary = family.vocabulary
        self.device = family.device
        self.slots = slots

    def encode(self, prefix: str, suffix: str) -> Job[Context]:
        return self._family.encode(prefix, suffix)

    def propose_lengths(self, context: Context, kind: HoleKind, limit: int) -> list[ProposedLength]:  # noqa: ARG002
        return [ProposedLength(self.slots, 0.0)]

    def denoise(self, context: Context, kind: HoleKind, canvas: Canvas, wanted: Ints) -> Tensor:
        return self._family.denoise(context, kind, canvas, wanted)

    def prompt(self, context: Context) -> Job[Any]:
        if not isinstance(self._family, WritesDrafts):
            return None
        return (yield from self._family.prompt(context))

    def write_drafts(self, prompt: Any, partial_word: str, right: str, limit: int) -> Job[list[ModelDraft]]:
        """Return the family's own drafts, if it has any. They choose their own length."""
        if not isinstance(self._family, WritesDrafts):
            return []
        return (yield from self._family.write_drafts(prompt, partial_word, right, limit))

    def count(self, around: tuple[str, str]) -> Job[Ngrams]:
        """Return the family's counts, if it uses any."""
        if not isinstance(self._family, WritesDrafts):
            raise OutOfTime
        return (yield from self._family.count(around))

    def score(self, *arguments: Any) -> Job[list[float]]:
        """Return the family's scores of the texts, if it has any."""
        if not isinstance(self._family, WritesDrafts):
            raise OutOfTime
        return (yield from self._family.score(*arguments))

    def take_from(self, question: Question) -> None:
        """Propose the length of this question's gold text from now on."""
        _, partial_word = self.vocabulary.split_partial_word(question.request.prefix)
        tokens = len(self.vocabulary.encode(partial_word + question.task.gold))
        if self.info.name == "duostream":
            tokens = next((bucket for bucket in LENGTH_BUCKETS if bucket >= tokens), LENGTH_BUCKETS[-1])
        self.slots = max(1, min(tokens, self.info.max_slots))


def fixed_slots(choice: str, most: int) -> int | None:
    """Return the N of `fixed:N`, at most `most`; None for the other two. Raises InputError for anything else."""
    if choice in ("predicted", "oracle"):
        return None
    name, _, number = choice.partition(":")
    if name == "fixed" and number.isdecimal() and 1 <= int(number) <= most:
        return int(number)
    raise InputError(f"--lengths is {choice!r}; give predicted, oracle, or fixed:N with N from 1 to {most}")
