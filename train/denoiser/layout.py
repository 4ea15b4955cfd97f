"""Where the blocks of a text stand, and what their slots should predict.

    token       … a-1   a    a+1   a+2   a+3 …
    real rows         anchor                        predicts token a+1
    mask rows                 1     2     3  …      at these positions; slot j predicts token a+j+1

The target of a slot is the trunk's own choice, known as long as the text follows these choices from the anchor on. At
the first token that differs, the trunk's choice is still the target. The slots after it have none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from train.denoiser.texts import LIKELIEST, Text

SLOTS = 7  # mask rows of a block
DECAY = 4.0  # slot k weighs exp(-(k - 1) / DECAY)


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts and the blocks to learn from, padded: B texts of T tokens with A anchors of C slots each.

    A slot without a target has weight 0. `likeliest` are tokens of the vocabulary and `chances` their probabilities.
    """

    tokens: Tensor  # [B, T]
    anchors: Tensor  # [B, A], indices of tokens
    weights: Tensor  # [B, A, C]
    before: Tensor  # [B, A, C], the token before the slot's target
    likeliest: Tensor  # [B, A, C, K], the target first
    chances: Tensor  # [B, A, C, K]
    names: tuple[str, ...] = ()  # of the texts

    @property
    def slots(self) -> int:
        """The number of slots with a target."""
        return int((self.weights > 0).sum())

    def to(self, device: str) -> "Batch":
        """Return the batch on a device."""
        names = ("tokens", "anchors", "weights", "before", "likeliest", "chances")
        return replace(self, **{name: getattr(self, name).to(device) for name in names})


def anchors_of(text: Text, most: int, above: int, generator: torch.Generator, *, short: float = 1.0) -> Tensor:
    """Draw up to `most` anchors in the middle and up to `above` in the prompt, in order. Every one has a target.

    Of the anchors with targets for less than half of their slots, only the share `short` is drawn, because their
    rows cost as much as others.
    """
    known = known_slots(text, torch.arange(len(text) - 1)).sum(1)
    kept = torch.rand(len(known), generator=generator) < short
    places = ((known > SLOTS // 2) | ((known > 0) & kept)).nonzero()[:, 0]
    inside = places[places >= text.start - 1]
    outside = places[places < text.start - 1]
    chosen = [_some(inside, most, generator), _some(outside, above, generator)]
    return torch.cat(chosen).sort().values


def known_slots(text: Text, anchors: Tensor, slots: int = SLOTS) -> Tensor:
    """Return whether the slots after `anchors` [A] have a target, [A, slots]."""
    goes_on = torch.zeros(len(text) + slots, dtype=torch.bool)  # where the text follows the trunk's choice
    goes_on[: len(text) - 1] = text.tokens[1:] == text.likeliest[:-1, 0]
    return goes_on[anchors[:, None] + torch.arange(slots)].cumprod(1).bool()


def lay_out(texts: Sequence[Text], anchors: Sequence[Tensor], slots: int = SLOTS, decay: float = DECAY) -> Batch:
    """Return a batch of texts with blocks of `slots` after the given anchors."""
    count, longest, most = len(texts), max(map(len, texts)), max(map(len, anchors))
    tokens = torch.zeros(count, longest, dtype=torch.long)
    at = torch.zeros(count, most, dtype=torch.long)
    weights, before = torch.zeros(count, most, slots), torch.zeros(count, most, slots, dtype=torch.long)
    likeliest = torch.zeros(count, most, slots, LIKELIEST, dtype=torch.long)
    chances = torch.zeros(count, most, slots, LIKELIEST)
    by_slot = torch.exp(-torch.arange(slots) / decay)
    for number, (text, own) in enumerate(zip(texts, anchors, strict=True)):
        tokens[number, : len(text)] = text.tokens
        at[number, : len(own)] = own
        rows = (own[:, None] + 1 + torch.arange(slots)).clamp(max=len(text) - 1)
        weights[number, : len(own)] = known_slots(text, own, slots) * by_slot
        before[number, : len(own)] = text.tokens[rows]
        likeliest[number, : len(own)] = text.likeliest[rows]
        chances[number, : len(own)] = text.logprobs[rows].exp()
    return Batch(tokens, at, weights, before, likeliest, chances, tuple(text.name for text in texts))


def _some(places: Tensor, most: int, generator: torch.Generator) -> Tensor:
    return places[torch.randperm(len(places), generator=generator)[:most]]
