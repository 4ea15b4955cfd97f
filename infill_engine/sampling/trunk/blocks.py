"""Blocks of masks after the nodes of a pass: which nodes get one, how long it is, and what becomes of its proposals.

A block saves passes if its proposals are right, because the next pass verifies all of them at once. So a node gets a
block if the right text probably continues after it with a token that this pass does not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from infill_engine.budget.work import Costs, Phase
from infill_engine.models.trunk.denoiser import Denoised, Denoiser
from infill_engine.models.trunk.model import BEFORE
from infill_engine.models.trunk.slots import NO_BLOCKS, Blocks
from infill_engine.sampling.trunk.token_tree import ROOT, TokenTree
from infill_engine.sampling.trunk.tree_growth import propose

MOST_BLOCKS = 3
MANY_ROWS = 16  # a row's cost is estimated from how much longer a pass over this many rows takes
SAMPLES = 2  # tokens after an anchor for which its block is read
LEAST_SAMPLE = log(0.2)  # least log-probability of such a token


@dataclass(frozen=True, slots=True)
class BlockPlanner:
    """Plans the blocks of a search, and adds their proposals to its tree."""

    denoiser: Denoiser
    tree: TokenTree
    costs: Costs

    def plan(self, numbers: Sequence[int], *, behind_prompt: bool) -> Blocks:
        """Return the blocks of a pass over some nodes, and over the end of the prompt if `behind_prompt`.

        A slot is worth computing if the pass that it may save takes longer.
        """
        single_ms = self.costs.predict_ms(Phase.PASS, 1)
        row_ms = max(self.costs.predict_ms(Phase.PASS, MANY_ROWS) - single_ms, 0.0) / (MANY_ROWS - 1)
        least = row_ms * self.denoiser.mask_share / max(single_ms, row_ms, 1e-6)
        leaves = self._leaves([ROOT, *numbers] if behind_prompt else numbers)
        found = []
        for number in sorted(leaves, key=lambda number: -leaves[number])[:MOST_BLOCKS]:
            width = int((leaves[number] * self.denoiser.reached > least).sum())
            if width:
                found.append((BEFORE if number == ROOT else list(numbers).index(number), width))
        return Blocks([anchor for anchor, _ in found], [width for _, width in found]) if found else NO_BLOCKS

    def learn(self, numbers: Sequence[int], blocks: Blocks, denoised: Denoised) -> None:
        """Add what the blocks propose after the likeliest tokens that follow their anchors."""
        for block, anchor in enumerate(blocks.anchors):
            number = ROOT if anchor == BEFORE else numbers[anchor]
            for child in self._likeliest(number):
                token = self.tree.nodes[child].token
                propose(self.tree, child, self.denoiser.choices(denoised, blocks.rows(block), token))

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
