"""Where the blocks of a text stand, and what their slots should predict.

    token       … a-1   a    a+1   a+2   a+3 …
    real rows         anchor                        predicts token a+1
    mask rows                 1     2     3  …      at these positions; slot j predicts token a+j+1

The target of a slot is the trunk's own choice, known as long as the text follows these choices from the anchor on. At
the first token that differs, the trunk's choice is still the target. The slots after it have none.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from train.mask_rows.texts import Text

SLOTS = 7  # mask rows of a block
DECAY = 4.0  # slot k weighs exp(-(k - 1) / DECAY)


@dataclass(frozen=True, slots=True)
class Blocks:
    """A text and the blocks to learn from: T tokens with A anchors of C slots each.

    N slots have a target: `rows` are their indices among all A * C. `likeliest` are tokens of the vocabulary, the
    target first, and `chances` their probabilities; `before` are the tokens before the targets.
    """

    tokens: Tensor  # [T]
    anchors: Tensor  # [A], indices of tokens, in order
    rows: Tensor  # [N]
    weights: Tensor  # [N]
    before: Tensor  # [N]
    likeliest: Tensor  # [N, K]
    chances: Tensor  # [N, K]


def anchors_of(text: Text, most: int, generator: torch.Generator, *, short: float = 1.0) -> Tensor:
    """Draw up to `most` anchors in the middle, in order. Every one has a target.

    Of the anchors with targets for less than half of their slots, only the share `short` is drawn, because their
    rows cost as much as others.
    """
    known = known_slots(text, torch.arange(len(text) - 1)).sum(1)
    kept = torch.rand(len(known), generator=generator) < short
    places = ((known > SLOTS // 2) | ((known > 0) & kept)).nonzero()[:, 0]
    inside = places[places >= text.start - 1]
    return inside[torch.randperm(len(inside), generator=generator)[:most]].sort().values


def known_slots(text: Text, anchors: Tensor, slots: int = SLOTS) -> Tensor:
    """Return whether the slots after `anchors` [A] have a target, [A, slots]."""
    goes_on = torch.zeros(len(text) + slots, dtype=torch.bool)  # where the text follows the trunk's choice
    goes_on[: len(text) - 1] = text.tokens[1:] == text.likeliest[:-1, 0]
    return goes_on[anchors[:, None] + torch.arange(slots)].cumprod(1).bool()


def lay_out(text: Text, anchors: Tensor, slots: int = SLOTS, decay: float = DECAY) -> Blocks:
    """Return a text with blocks of `slots` after the given anchors [A]."""
    rows = known_slots(text, anchors, slots).flatten().nonzero()[:, 0]
    at = (anchors[:, None] + 1 + torch.arange(slots)).flatten()[rows]  # the token before each target
    weights = torch.exp(-(rows % slots) / decay)
    return Blocks(text.tokens, anchors, rows, weights, text.tokens[at], text.likeliest[at], text.logprobs[at].exp())
