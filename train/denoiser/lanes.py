"""Lets the trunk write many texts at a time, greedily, each in its own lane. A free lane takes the next prompt.

A matrix product covers one row of each lane, so that the weights are read once for all of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.network import Attend, Network, forward, normed
from train.denoiser.context import Context
from train.denoiser.texts import LIKELIEST, Text

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


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and its context for mask rows if it was asked for."""

    text: Text
    context: Context | None


@dataclass(slots=True)
class _Lane:
    """A text while it is written, with the likeliest tokens after each token and their log-probabilities [T, K].

    `entered` [T, D] are the states before the layer from which the context is kept.
    """

    order: Order
    written: list[int] = field(default_factory=list)
    likeliest: list[Tensor] = field(default_factory=list)
    logprobs: list[Tensor] = field(default_factory=list)
    entered: list[Tensor] = field(default_factory=list)
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

    A prompt and its middle have at most `slots` tokens; an order for more is skipped. Contexts are kept from the layer
    `keep_from` on, if it is given.
    """

    def __init__(
        self, network: Network, ends: frozenset[int], *, lanes: int, slots: int, keep_from: int | None = None
    ) -> None:
        self._network, self._ends, self._slots, self._keep_from = network, ends, slots, keep_from
        self._lower = replace(network, layers=network.layers[: keep_from or 0])
        self._upper = replace(network, layers=network.layers[keep_from or 0 :])
        config = network.config
        shape = (2, lanes, config.kv_heads, slots, config.head_dim)
        dtype = network.embed(torch.zeros(1, dtype=torch.long)).dtype
        self._kept = [torch.zeros(shape, dtype=dtype) for _ in range(config.layers)]
        self._lanes: list[_Lane | None] = [None] * lanes

    @torch.inference_mode()
    def write(self, orders: Iterable[Order]) -> Iterator[Written]:
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

    def _after(self, number: int, likely: tuple[Tensor, Tensor]) -> Iterator[Written]:
        """Give a lane its next token. If that was the last one, yield its text and free the lane."""
        lane = self._lanes[number]
        assert lane is not None
        lane.take(*likely, self._ends)
        if lane.written[-1] in self._ends or len(lane.written) > lane.order.most or lane.circles:
            self._lanes[number] = None
            text = lane.text()
            yield Written(text, self._context(number, lane, len(text)))

    def _context(self, number: int, lane: _Lane, length: int) -> Context | None:
        if self._keep_from is None:
            return None
        kept = [each[:, number : number + 1, :, :length].to(torch.bfloat16) for each in self._kept[self._keep_from :]]
        entered = torch.cat(lane.entered)[None].to(torch.bfloat16)
        return Context(entered, [(each[0], each[1]) for each in kept])

    def _forward(self, tokens: Tensor, positions: Tensor, attend: Attend) -> tuple[Tensor, Tensor]:
        """Return the states [T, D] of rows after all layers, and before the layer from which contexts are kept."""
        first = len(self._lower.layers)
        entered = forward(self._lower, self._network.embed(tokens), positions, attend)
        states = forward(self._upper, entered, positions, lambda layer, *rows: attend(first + layer, *rows))
        return states, entered

    def _begin(self, number: int, order: Order) -> tuple[Tensor, Tensor]:
        """Read a prompt and what is given of its middle into a lane. Returns the likeliest tokens after each token."""
        lane = self._lanes[number] = _Lane(order, list(order.given))
        tokens = torch.tensor(order.prompt + order.given)
        size = len(tokens)

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            self._kept[layer][0, number, :, :size] = keys
            self._kept[layer][1, number, :, :size] = values
            found = F.scaled_dot_product_attention(
                queries[None], keys[None], values[None], is_causal=True, enable_gqa=True
            )
            return found[0].transpose(0, 1).flatten(1)

        states, entered = self._forward(tokens, torch.arange(size), attend)
        lane.entered.append(entered)
        return self._likeliest(states)

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
        states, entered = self._forward(tokens, positions, attend)
        for row, lane in enumerate(lanes):
            lane.entered.append(entered[row : row + 1])
        return states

    def _likeliest(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest tokens after states [T, D], and their log-probabilities, each [T, K]."""
        logits = self._network.logits(normed(self._network, states)).float()
        values, likeliest = logits.topk(LIKELIEST, -1)
        return likeliest, values - logits.logsumexp(-1, keepdim=True)
