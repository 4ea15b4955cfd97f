"""Texts to learn mask rows from, and the pieces in which they are stored.

A text is a prompt and the middle that the trunk wrote for it, greedily. The adapter has learned short
middles. So where the trunk would end one, the first word of the original's next line is added, and it goes on. A piece
is a safetensors file of a few hundred texts.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from infill_engine.errors import TrainingError

MIXED = 4  # pieces whose texts are shuffled together
LIKELIEST = 12  # tokens of each position whose log-probabilities are kept


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt and a middle: `tokens` [T], of which the middle begins at `start`.

    `likeliest` [T, K] are the likeliest tokens after each token by the trunk, best first, and `logprobs` [T, K] their
    log-probabilities in nats. The last row says how the text would go on.
    """

    tokens: Tensor
    start: int
    likeliest: Tensor
    logprobs: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def written(self) -> int:
        """The number of tokens of the middle."""
        return len(self.tokens) - self.start


def save_piece(path: Path, texts: Sequence[Text]) -> None:
    """Write a piece as a whole: a reader never sees a part of it."""
    stored = {
        "tokens": torch.cat([text.tokens for text in texts]).int(),
        "lengths": torch.tensor([len(text) for text in texts], dtype=torch.int32),
        "starts": torch.tensor([text.start for text in texts], dtype=torch.int32),
        "likeliest": torch.cat([text.likeliest for text in texts]).int(),
        "logprobs": torch.cat([text.logprobs for text in texts]).half(),
    }
    unfinished = path.with_suffix(".part")
    save_file(stored, unfinished)
    unfinished.replace(path)


def load_piece(path: Path) -> list[Text]:
    """Return the texts of a piece."""
    stored = load_file(path)
    lengths = stored["lengths"].tolist()
    tokens, likeliest, logprobs = (stored[name].split(lengths) for name in ("tokens", "likeliest", "logprobs"))
    return [
        Text(own.long(), start, choices.long(), chances.float())
        for own, start, choices, chances in zip(tokens, stored["starts"].tolist(), likeliest, logprobs, strict=True)
    ]


def pieces_in(folder: Path) -> list[Path]:
    """Return the paths of the pieces in a folder and its subfolders, in order."""
    return sorted(folder.rglob("piece-*.safetensors"))


def read_texts(folder: Path) -> list[Text]:
    """Return the texts of all pieces in a folder."""
    return [text for path in pieces_in(folder) for text in load_piece(path)]


def deal(folder: Path, rng: random.Random) -> Iterator[Text]:
    """Yield texts without end, all pieces in random order and then again. Raises TrainingError if there are none."""
    while True:
        paths = pieces_in(folder)  # a writer may add some
        if not paths:
            raise TrainingError(f"no pieces in {folder}; write some with train.mask_rows.write")
        rng.shuffle(paths)
        for start in range(0, len(paths), MIXED):
            hand = [text for path in paths[start : start + MIXED] for text in load_piece(path)]
            rng.shuffle(hand)
            yield from hand
