"""Lets the trunk write many texts at a time, greedily, each in its own lane. A free lane takes the next prompt.

A matrix product covers one row of each lane, so that the weights are read once for all of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.network import Network, forward, normed
from train.mask_rows.texts import LIKELIEST, Text

PERIOD, REPEATED = 16, 28  # a text that repeats this few tokens for this long is going in circles


@dataclass(frozen=True, slots=True)
class Order:
    """A prompt, and how its middle is led on: where it would end, the next of the `guides` is added.

    The middle begins with the tokens `given`, and has at most `most` tokens.
    """

    prompt: list[int]
    guides: list[list[int]]
    most: int
    given: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Lane:
    """A text while it is written, with the likeliest tokens after each token and their log-probabilities [T, K]."""

    order: Order
    written: list[int] = field(default_factory=list)
    likeliest: list[Tensor] = field(default_factory=list)
    logprobs: list[Tensor] = field(default_factory=list)
    forced: list[int] = field(default_factory=list)  # tokens of a guide that are still to come
    guided: int = 0

    def take(self, likeliest: Tensor, logprobs: Tensor, ends: frozenset[int]) -> None:
        """Add the likeliest tokens after the newest ones, [N, K], and continue with the best or with a guide."""
        self.likeliest.append(likeliest)
        self.logprobs.append(logprobs)
        best = int(likeliest[-1, 0])
        if best in ends and not self.forced and self.guided < len(self.order.guides):
            self.forced = list(self.order.guides[self.guided])
            self.guided += 1
        self.written.append(self.forced.pop(0) if self.forced else best)

    @property
    def circles(self) -> bool:
        last = self.written[-REPEATED:]
        return len(last) == REPEATED and any(last[by:] == last[:-by] for by in range(1, PERIOD + 1))

    def text(self) -> Text:
        """The text without the last chosen token, whose successors are not known."""
        tokens = torch.tensor([*self.order.prompt, *self.written[:-1]])
        return Text(tokens, len(self.order.prompt), torch.cat(self.likeliest), torch.cat(self.logprobs))


class Writer:
    """Continues prompts with a trunk's `network`, until a token of `ends` that no guide follows.

    A prompt and its middle have at most `slots` tokens; an order for more is skipped.
    """

    def __init__(self, network: Network, ends: frozenset[int], *, lanes: int, slots: int) -> None:
        self._network, self._ends, self._slots = network, ends, slots
        config = network.config
        shape = (2, lanes, config.kv_heads, slots, config.head_dim)
        dtype = network.embed(torch.zeros(1, dtype=torch.long)).dtype
        self._kept = [torch.zeros(shape, dtype=dtype) for _ in range(config.layers)]
        self._lanes: list[_Lane | None] = [None] * lanes

    @torch.inference_mode()
    def write(self, orders: Iterable[Order]) -> Iterator[Text]:
        """Yield the texts of all orders, each when it is finished."""
        waiting = iter(orders)
        while True:
            for number in range(len(self._lanes)):
                while self._lanes[number] is None and (order := next(waiting, None)) is not None:
                    if len(order.prompt) + order.most < self._slots:
                        yield from self._after(number, self._begin(number, order))
            busy = [number for number, lane in enumerate(self._lanes) if lane is not None]
            if not busy:
                return
            likeliest, logprobs = self._likeliest(self._advance(busy))
            for row, number in enumerate(busy):
                yield from self._after(number, (likeliest[row : row + 1], logprobs[row : row + 1]))

    def _after(self, number: int, likely: tuple[Tensor, Tensor]) -> Iterator[Text]:
        """Give a lane its next token. If that was the last one, yield its text and free the lane."""
        lane = self._lanes[number]
        assert lane is not None
        lane.take(*likely, self._ends)
        if lane.written[-1] in self._ends or len(lane.written) > lane.order.most or lane.circles:
            self._lanes[number] = None
            yield lane.text()

    def _begin(self, number: int, order: Order) -> tuple[Tensor, Tensor]:
        """Read a prompt and what is given of its middle into a lane. Returns the likeliest tokens after each token."""
        self._lanes[number] = _Lane(order, list(order.given))
        tokens = torch.tensor(order.prompt + order.given)
        size = len(tokens)

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            self._kept[layer][0, number, :, :size] = keys
            self._kept[layer][1, number, :, :size] = values
            found = F.scaled_dot_product_attention(
                queries[None], keys[None], values[None], is_causal=True, enable_gqa=True
            )
            return found[0].transpose(0, 1).flatten(1)

        return self._likeliest(forward(self._network, self._network.embed(tokens), torch.arange(size), attend))

    def _advance(self, busy: list[int]) -> Tensor:
        """Read the newest token of each busy lane. Returns their states [B, D]."""
        lanes = [lane for lane in self._lanes if lane is not None]
        positions = torch.tensor([len(lane.order.prompt) + len(lane.written) - 1 for lane in lanes])
        which, used = torch.tensor(busy), int(positions.max()) + 1
        hidden = torch.where(torch.arange(used) <= positions[:, None], 0.0, -torch.inf)[:, None, None]

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            kept = self._kept[layer]
            kept[0, which, :, positions] = keys.transpose(0, 1)
            kept[1, which, :, positions] = values.transpose(0, 1)
            seen = kept[..., :used, :] if len(busy) == len(self._lanes) else kept[:, which, :, :used]
            grouped = queries.transpose(0, 1).unflatten(1, (keys.shape[0], -1))  # [B, kv_heads, heads / kv_heads, hd]
            scores = grouped @ seen[0].transpose(2, 3) * queries.shape[-1] ** -0.5 + hidden.to(queries.dtype)
            found: Tensor = (scores.softmax(-1) @ seen[1]).flatten(1)
            return found

        tokens = torch.tensor([lane.written[-1] for lane in lanes])
        return forward(self._network, self._network.embed(tokens), positions, attend)

    def _likeliest(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest tokens after states [T, D], and their log-probabilities, each [T, K]."""
        logits = self._network.logits(normed(self._network, states)).float()
        values, likeliest = logits.topk(LIKELIEST, -1)
        return likeliest, values - logits.logsumexp(-1, keepdim=True)
