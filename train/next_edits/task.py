"""The task of the trainer: next edits of version histories, with those of the calibration split to judge it."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from torch import Tensor

from train.denoiser.frozen import FrozenTrunk
from train.next_edits.examples import Deck, Drawn
from train.next_edits.learning import Learner, Scores, summary

CALIBRATION_SEED = 5


class NextEdits:
    """See `train.low_rank.training.Task`. The parts of an example are its regions."""

    def __init__(self, learner: Learner, histories: Path, judged: int) -> None:
        self.trunk: FrozenTrunk = learner.trunk
        self._learner, self._histories, self._judged = learner, histories, judged
        self._deck: Deck | None = None

    def draw(self, seed: int) -> Iterator[Drawn]:
        """See `Task`."""
        self._deck = self._open("train", seed)
        return self._deck.draw()

    def judged(self) -> list[Drawn]:
        """See `Task`."""
        return list(islice(self._open("calibration", CALIBRATION_SEED).draw(), self._judged))

    def size(self, item: Drawn) -> int:
        """See `Task`."""
        return len(item.pack.rows)

    def learn(self, weights: Mapping[str, Tensor], item: Drawn) -> tuple[list[Tensor], list[Scores]]:
        """See `Task`."""
        return self._learner.learn(weights, item.pack)

    def judge(self, weights: Mapping[str, Tensor], item: Drawn) -> list[Scores]:
        """See `Task`."""
        return self._learner.judge(weights, item.pack)

    def learned(self, item: Drawn, scores: Sequence[Scores]) -> None:
        """See `Task`."""
        assert self._deck is not None
        self._deck.learned(item, sum(each.loss for each in scores))

    def summary(self, scores: Sequence[Scores]) -> str:
        """See `Task`."""
        return summary(scores)

    def _open(self, split: str, seed: int) -> Deck:
        return Deck(self._histories / f"{split}.jsonl", self._learner.vocabulary, seed)
