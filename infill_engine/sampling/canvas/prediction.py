"""Reduces logits to the few numbers that a step decides by. This is a step's only synchronisation with the device."""

from dataclasses import dataclass, fields

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infill_engine.models.base import NoNumbersError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SlotPredictions:
    """The model's prediction for W positions, all [W]; log-probabilities and entropy in nats.

    `best` and `second` are the two most probable tokens. `held_logprob` is that of the token the position now holds.
    """

    best: Ints
    best_logprob: Floats
    second: Ints
    second_logprob: Floats
    entropy: Floats
    held_logprob: Floats

    def part(self, chosen: Ints) -> "SlotPredictions":
        """Return the prediction of only the positions `chosen` (indices into W)."""
        return SlotPredictions(*(getattr(self, field.name)[chosen] for field in fields(self)))


def read(logits: Tensor, held: Ints, noise: Tensor | None = None) -> SlotPredictions:
    """Read logits [W, V] float32, already masked, of positions that hold tokens `held` [W].

    `noise` [W, V], if given, is added before the best token is chosen (Gumbel noise samples from the softmax). The
    reported log-probabilities are always the model's. Raises NoNumbersError.
    """
    logprobs = torch.log_softmax(logits, -1)
    top = (logprobs if noise is None else logprobs + noise).topk(2, -1).indices
    chosen = logprobs.gather(-1, torch.cat([top, torch.from_numpy(held).to(top.device)[:, None]], -1))
    entropy = -(logprobs.exp() * logprobs.clamp(min=-1e4)).sum(-1, keepdim=True)
    numbers = torch.cat([chosen, entropy], -1).cpu().numpy()
    if np.isnan(numbers[:, 0]).any():
        raise NoNumbersError
    tokens = top.cpu().numpy()
    return SlotPredictions(tokens[:, 0], numbers[:, 0], tokens[:, 1], numbers[:, 1], numbers[:, 3], numbers[:, 2])
