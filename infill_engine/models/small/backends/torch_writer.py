"""Continues a prompt in torch, one token for all rows at a time."""

from collections.abc import Sequence

import torch
from torch import Tensor

from infill_engine.models.base import Ints
from infill_engine.models.small.drafting import MOST_TOKENS, last_two
from infill_engine.models.small.network.attention import HIDDEN
from infill_engine.models.small.network.dual_encoder import PREFIX, DualEncoder, Write
from infill_engine.models.small.network.layers import KeysValues

ROUNDED = 64  # keys are padded to a multiple of this many positions, so that few shapes occur


class TorchWriter:
    """Implements `drafting.Writer` for `rows` rows of at most `most` tokens.

    `encoder` holds the prompt's keys and values [1, H, P, hd] per layer, `last_state` [1, 1, D] its last state. `ids`
    are the tokens before the hole, which the rows continue. `write` computes `DualEncoder.write`.
    """

    def __init__(
        self,
        network: DualEncoder,
        write: Write,
        encoder: Sequence[KeysValues],
        last_state: Tensor,
        ids: Ints,
        rows: int,
        most: int = MOST_TOKENS,
    ) -> None:
        self._network = network
        self._write = write
        self._last_state = last_state
        self._position = len(ids)
        self._last_tokens = last_two(ids)
        self._rows = rows
        self._length = encoder[0][0].shape[2]
        self._step = 0
        size = self._length + rows * most
        size += -size % ROUNDED
        self._encoder = [(roomy(keys, size), roomy(values, size)) for keys, values in encoder]
        self._hidden = self._encoder[0][0].new_full((1, 1, rows, size), HIDDEN)
        self._hidden[..., : self._length] = 0
        self._direction = torch.full((rows,), PREFIX, device=self._hidden.device)

    def first(self) -> Tensor:
        return self._logprobs(self._last_state[0])

    def after(self, rows: Sequence[Sequence[int]], parents: Sequence[int] = ()) -> Tensor:
        network = self._network
        if parents and self._step:
            self._hidden = self._hidden[:, :, parents]
        history = torch.tensor([[*self._last_tokens, *row][-3:] for row in rows], device=self._hidden.device)
        start = self._length + self._step * self._rows
        self._hidden[0, 0, :, start : start + self._rows].fill_diagonal_(0)
        x = network.embed(history, self._direction)[:, -1].unsqueeze(0)
        position = torch.tensor([self._position + self._step], device=x.device)
        states = self._write(x, network.rotary(position), self._encoder, start, self._hidden)
        self._step += 1
        return self._logprobs(states[0])

    def _logprobs(self, states: Tensor) -> Tensor:
        """Map states [R, D] to log-probabilities [R, V]."""
        return torch.log_softmax(self._network.logits(states).float(), -1)


def roomy(held: Tensor, size: int) -> Tensor:
    """Return a copy of keys or values [1, H, P, hd] with capacity for `size` positions."""
    room = held.new_empty(*held.shape[:2], size, held.shape[3])
    room[:, :, : held.shape[2]] = held
    room[:, :, held.shape[2] :] = 0
    return room
