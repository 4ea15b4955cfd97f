"""Deals the texts of a growing folder of pieces: those dealt least often first, in random order."""

import random
from collections.abc import Iterator
from pathlib import Path

from infill_engine.errors import TrainingError
from train.denoiser.texts import Text, load_piece, pieces_in

MIXED = 4  # pieces whose texts are shuffled together


class Deck:
    """`dealt` says how often each piece, by its name in `folder`, was dealt; it is part of a checkpoint."""

    def __init__(self, folder: Path, dealt: dict[str, int], seed: int = 0) -> None:
        self._folder, self.dealt, self._rng = folder, dealt, random.Random(seed)

    def texts(self) -> Iterator[Text]:
        """Yield texts without end. Looks for new pieces now and then. Raises TrainingError if there are none at all."""
        while True:
            paths = pieces_in(self._folder)
            if not paths:
                raise TrainingError(f"no pieces in {self._folder}; write some with train.denoiser.write")
            self._rng.shuffle(paths)
            paths.sort(key=lambda path: self.dealt.get(self._name(path), 0))
            hand = [text for path in paths[:MIXED] for text in load_piece(path, self._name(path))]
            for path in paths[:MIXED]:
                self.dealt[self._name(path)] = self.dealt.get(self._name(path), 0) + 1
            self._rng.shuffle(hand)
            yield from hand

    def _name(self, path: Path) -> str:
        return "-".join(path.relative_to(self._folder).with_suffix("").parts)
