"""Blocks of masks after the nodes of a pass: which nodes get one, how long it is, and what becomes of its proposals.

A block saves passes if its proposals are right, because the next pass verifies all of them at once. So a node gets a
block if the right text probably continues after it with a token that this pass does not read.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from infill_engine.models.trunk.denoiser import Denoised, Denoiser
from infill_engine.models.trunk.prompt_cache import BEFORE
from infill_engine.models.trunk.slots import MOST_BLOCKS, NO_BLOCKS, Blocks
from infill_engine.sampling.trunk.token_tree import ROOT, TokenTree
from infill_engine.sampling.trunk.tree_growth import propose

SAMPLES = 2  # tokens after an anchor for which its block is read
LEAST_SAMPLE = log(0.2)  # least log-probability of such a token


@dataclass(frozen=True, slots=True)
class BlockPlanner:
    """Plans the blocks of a search, and adds their proposals to its tree."""

    denoiser: Denoiser
    tree: TokenTree

    def plan(self, numbers: Sequence[int], room: int, *, behind_prompt: bool) -> Blocks:
        """Return the blocks of a pass over some nodes, and over the end of the prompt if `behind_prompt`.

        They have at most `room` slots in all, those that are likeliest to be right.
        """
        leaves = self._likeliest_leaves(numbers, behind_prompt=behind_prompt)
        slots = [
            (chance * reached, -slot, number)
            for number, chance in leaves.items()
            for slot, reached in enumerate(self.denoiser.reached)
        ]
        widths = Counter(number for _, _, number in sorted(slots, reverse=True)[:room])
        anchors = [BEFORE if number == ROOT else list(numbers).index(number) for number in widths]
        return Blocks(anchors, list(widths.values())) if widths else NO_BLOCKS

    def usefulness(self, numbers: Sequence[int], *, behind_prompt: bool) -> float:
        """Return the probability that the right text goes on after one of the blocks' anchors."""
        return min(1.0, sum(self._likeliest_leaves(numbers, behind_prompt=behind_prompt).values()))

    def learn(self, numbers: Sequence[int], blocks: Blocks, denoised: Denoised) -> None:
        """Add what the blocks propose after the likeliest tokens that follow their anchors."""
        for block, anchor in enumerate(blocks.anchors):
            number = ROOT if anchor == BEFORE else numbers[anchor]
            for child in self._likeliest(number):
                token = self.tree.nodes[child].token
                propose(self.tree, child, self.denoiser.text_after(denoised, blocks.rows(block), token))

    def _likeliest_leaves(self, numbers: Sequence[int], *, behind_prompt: bool) -> dict[int, float]:
        """Return the nodes that are likeliest to be the last ones on the right text's path, and how likely they are."""
        leaves = self._leaves([ROOT, *numbers] if behind_prompt else numbers)
        chosen = sorted(leaves, key=lambda number: -leaves[number])[:MOST_BLOCKS]
        return {number: leaves[number] for number in chosen if leaves[number] > 0}

    def _leaves(self, numbers: Sequence[int]) -> dict[int, float]:
        """Return, by node, the probability that it is the last one of the pass on the right text's path."""
        leaves = {number: self.tree.probability(number) for number in numbers}
        for number in numbers:
            if number != ROOT and (parent := self.tree.nodes[number].parent) in leaves:
                leaves[parent] -= self.tree.probability(number)
        return {number: chance for number, chance in leaves.items() if not self.tree.nodes[number].known}

    def _likeliest(self, number: int) -> list[int]:
        """Return the nodes of the likeliest token after a node, and of others that are nearly as likely."""
        base, rules = self.tree.logprob_of(number), self.tree.nodes[number].rules
        found = [
            (node.logprob - base, child)
            for child, node in self.tree.numbered_children(number)
            if node.logprob is not None and not node.known and node.token not in rules.ends
        ]
        ranked = sorted(found, key=lambda each: -each[0])[:SAMPLES]
        return [child for place, (logprob, child) in enumerate(ranked) if not place or logprob > LEAST_SAMPLE]
