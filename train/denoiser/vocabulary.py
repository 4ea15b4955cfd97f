"""The draft vocabulary: the tokens that mask rows can propose, a part of the trunk's, so that their head is small."""

from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from infill_engine.errors import TrainingError
from train.denoiser.layout import Batch
from train.denoiser.loss import Targets

WORDS = 32_768


def draft_vocabulary(texts: Iterable[Tensor], size: int, words: int = WORDS) -> Tensor:
    """Return the tokens, of a vocabulary of `size`, that are most frequent in texts, sorted: [min(words, size)].

    Tokens that occur in no text follow in the order of their ids, which is that of their merges: frequent ones first.
    """
    counts = torch.zeros(size)
    for tokens in texts:
        counts += torch.bincount(tokens, minlength=size)
    ranked = (counts - torch.arange(size) / (2 * size)).argsort(descending=True)
    return ranked[:words].sort().values


def read_vocabulary(path: Path) -> Tensor:
    """Return the draft vocabulary in a checkpoint or in what was exported from one. Raises TrainingError."""
    try:
        with safe_open(path, framework="pt") as file:
            vocabulary: Tensor = file.get_tensor("vocabulary")
    except (SafetensorError, OSError) as error:
        raise TrainingError(f"{path} holds no draft vocabulary ({error})") from error
    return vocabulary.long()


class Words:
    """Translates tokens to words of the draft vocabulary, their indices in it. Other tokens become `len(words)`."""

    def __init__(self, vocabulary: Tensor, size: int) -> None:
        self.vocabulary = vocabulary
        self._word = torch.full((size,), len(vocabulary), device=vocabulary.device)
        self._word[vocabulary] = torch.arange(len(vocabulary), device=vocabulary.device)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def targets(self, batch: Batch, total: float) -> tuple[Targets, Tensor]:
        """Return the targets of a batch's slots that have one, and their indices among all [N].

        `total` is the sum of the weights of the step.
        """
        rows = batch.weights.flatten().nonzero()[:, 0]
        slots = batch.weights.shape[-1]
        found = Targets(
            rows % slots,
            batch.weights.flatten()[rows] / total,
            self._word[batch.before.flatten()[rows]],
            self._word[batch.likeliest.flatten(0, 2)[rows]],
            batch.chances.flatten(0, 2)[rows],
        )
        return found, rows
