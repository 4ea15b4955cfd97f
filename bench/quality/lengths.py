"""Where canvas lengths come from: the model's own proposal, one fixed length, or the gold text's.

predicted   what the product does; the only one that is its score
fixed:N     every row has N slots
oracle      the length a perfect length head would give: for duostream models the smallest bucket that holds the
            gold text's tokens, for others their number; never more than the engine allows
"""

from typing import Any

from torch import Tensor

from bench.quality.systems import Question
from infill_engine.canvas.canvas import Canvas
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
from infill_engine.models.small.network import LENGTH_BUCKETS
from infill_engine.types import HoleKind
from infill_engine.work import Job, OutOfTime


class GivenLengths:
    """A family that proposes the lengths it was given; otherwise the one it wraps. Implements `CanvasModel`."""

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
        """The family's own drafts, if it has any: they find their length by themselves."""
        if not isinstance(self._family, WritesDrafts):
            return []
        return (yield from self._family.write_drafts(prompt, partial_word, right, limit))

    def count(self, around: tuple[str, str]) -> Job[Ngrams]:
        """What the family counts, if it judges at all."""
        if not isinstance(self._family, WritesDrafts):
            raise OutOfTime
        return (yield from self._family.count(around))

    def score(self, *arguments: Any) -> Job[list[float]]:
        """What the family thinks of the texts, if it has an opinion."""
        if not isinstance(self._family, WritesDrafts):
            raise OutOfTime
        return (yield from self._family.score(*arguments))

    def take_from(self, question: Question) -> None:
        """Proposes the length of the question's gold text from now on."""
        _, partial_word = self.vocabulary.split_partial_word(question.request.prefix)
        tokens = len(self.vocabulary.encode(partial_word + question.task.gold))
        if self.info.name == "duostream":
            tokens = next((bucket for bucket in LENGTH_BUCKETS if bucket >= tokens), LENGTH_BUCKETS[-1])
        self.slots = max(1, min(tokens, self.info.max_slots))


def fixed_slots(choice: str, most: int) -> int | None:
    """The N of `fixed:N`, at most `most`; None for the other two. Raises InputError for anything else."""
    if choice in ("predicted", "oracle"):
        return None
    name, _, number = choice.partition(":")
    if name == "fixed" and number.isdecimal() and 1 <= int(number) <= most:
        return int(number)
    raise InputError(f"--lengths is {choice!r}; give predicted, oracle, or fixed:N with N from 1 to {most}")
