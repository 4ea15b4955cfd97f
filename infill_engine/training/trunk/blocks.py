"""Blocks of mask rows after the tokens of a window, laid out as one pass over all of them.

    … lines above … | the line so far | the hole's text <end>
                            ▲ anchor, whose own row predicts the next token
                             └ mask 1, mask 2, …: each predicts the token after that

A mask row sees what its anchor sees, the anchor, and its own block. Anchors are tokens of the holes and of the lines
above them, so nearly every row that is read can teach some mask rows.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infill_engine.models.trunk.denoiser import BLOCK
from infill_engine.training.trunk.data import Laid, Pass, Window, added_mask

LENGTHS = (1, 2, 2, 3, 4)  # block lengths: masks are costly and the first slots matter most, so blocks are short
LEAST_BEFORE = 24  # fewest tokens of the lines above before an anchor


@dataclass(frozen=True, slots=True)
class Blocks:
    """Mask rows and their targets. `rows` are laid out for `attend_in_groups`.

    The shared keys of `rows` are those of prefix, suffixes and middles, in this order. All others are [N]. `places` are
    positions in the block, from 0. `teachers` are the rows, of prefix and then middles, that predict the same token as
    a mask row. `before` is the token before the predicted one, and `targets` is the predicted one.
    """

    rows: Pass
    places: Tensor
    teachers: Tensor
    before: Tensor
    targets: Tensor


@dataclass(frozen=True, slots=True)
class _Chain:
    """A sequence of tokens. The first one's key is in `column`, its state in row `state`, at `position`.

    `seen` [C] are the keys before the chain that all of its rows see.
    """

    tokens: Sequence[int]
    column: int
    state: int
    position: int
    seen: Tensor

    def anchors(self, first: int) -> list[tuple["_Chain", int]]:
        """Return the tokens from index `first` on that are followed by at least two tokens."""
        return [(self, number) for number in range(first, len(self.tokens) - 2)]


def lay_out_blocks(window: Window, laid: Laid, most: int, rng: random.Random, lengths: Sequence[int]) -> Blocks:
    """Lay out blocks after at most `most` anchors: half of them in holes, or as many as there are.

    Their lengths are drawn from `lengths`; none extends past the end of its hole.
    """
    above, holes = _chains(window, laid)
    in_holes = [anchor for hole in holes for anchor in hole.anchors(0)]
    in_lines = above.anchors(LEAST_BEFORE)
    drawn = rng.sample(in_holes, min(max(most // 2, most - len(in_lines)), len(in_holes)))
    drawn += rng.sample(in_lines, min(most - len(drawn), len(in_lines)))
    blocks = [(chain, anchor, min(rng.choice(lengths), len(chain.tokens) - 2 - anchor)) for chain, anchor in drawn]
    slots = [(chain, anchor + place + 1) for chain, anchor, length in blocks for place in range(length)]
    return Blocks(
        _pass(blocks),
        torch.tensor([place for *_, length in blocks for place in range(length)]),
        torch.tensor([chain.state + number for chain, number in slots]),
        torch.tensor([chain.tokens[number] for chain, number in slots]),
        torch.tensor([chain.tokens[number + 1] for chain, number in slots]),
    )


def _chains(window: Window, laid: Laid) -> tuple[_Chain, list[_Chain]]:
    """Return the chain of the lines above, and those of the holes' middles."""
    prefix, suffixes, middles = len(laid.prefix), len(laid.suffixes.ids), len(laid.middles.ids)
    columns = prefix + suffixes + middles
    above = _Chain(window.prefix, 0, 0, 0, torch.zeros(columns, dtype=torch.bool))
    holes, context, middle = [], prefix, 0
    for hole in window.holes:
        seen = torch.zeros(columns, dtype=torch.bool)
        seen[: hole.above] = True
        seen[context : context + len(hole.context)] = True
        position = hole.above + len(hole.context)
        holes.append(_Chain(hole.middle, prefix + suffixes + middle, prefix + middle, position, seen))
        context += len(hole.context)
        middle += len(hole.middle) - 1
    return above, holes


def _pass(blocks: Sequence[tuple[_Chain, int, int]]) -> Pass:
    """Return the pass over the mask rows of blocks, given as (chain, anchor, length)."""
    group = torch.zeros(len(blocks), BLOCK, dtype=torch.long)
    own = torch.zeros(len(blocks), BLOCK, BLOCK, dtype=torch.bool)
    place, positions, seen, first = [], [], [], 0
    for number, (chain, anchor, length) in enumerate(blocks):
        group[number, :length] = torch.arange(first, first + length)
        own[number, :, :length] = True
        place += [number * BLOCK + column for column in range(length)]
        positions += [chain.position + anchor + 1 + column for column in range(length)]
        visible = chain.seen.clone()
        visible[chain.column : chain.column + anchor + 1] = True
        seen += [visible] * length
        first += length
    shared = added_mask(torch.stack(seen))
    no_ids = torch.zeros(0, dtype=torch.long)
    return Pass(no_ids, torch.tensor(positions), shared, group, torch.tensor(place), group, added_mask(own))
