"""Mask rows in the search: where a pass places them, and how their proposals are used.

A pass reads nodes of the tree. Mask rows after some of them propose how the text continues after each node's next
token. The next pass reads the proposals like retrieved texts. So one pass proposes, and the next one verifies.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import log

from infill_engine.deadline import now, since
from infill_engine.models.trunk.denoiser import MaskProposals
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.sampling.token_tree import ROOT, TokenTree
from infill_engine.work import EVER_MS, finished

MOST_MASKS = 8  # in a pass
ATTEMPTS = 4  # at measuring a pass
NEXT_RIGHT = 0.7  # how often the likeliest next token of a node on the right path is correct
LEAST_NEXT = log(0.2)  # of a node's next token, for proposals to follow it
MOST_NEXT = 2  # next tokens of a node that proposals may follow
LEAST_PROPOSED = log(0.05)  # of all tokens of a proposal together

Block = tuple[int, int]  # the anchor, as a node number, and the number of mask rows after it


@dataclass(frozen=True, slots=True)
class MaskCosts:
    """The cost of mask rows in milliseconds: `pass_ms` for a pass that has any, and `row_ms` for each row of a pass.

    A pass over one row without masks takes `one_row_ms`.
    """

    pass_ms: float
    row_ms: float
    one_row_ms: float = 0.0

    def predict_ms(self, masks: int) -> float:
        """What `masks` mask rows add to a pass, and what verifying their proposals adds to the next one."""
        return self.pass_ms + 2 * masks * self.row_ms if masks else 0.0


def measured_mask_costs(model: TrunkModel) -> MaskCosts:
    """The cost of mask rows on this machine: each kind of pass is timed a few times, and the fastest time counts."""
    masks, fastest = len(model.survival), dict.fromkeys(("plain", "masks", "rows"), EVER_MS)
    ways = {"plain": (1, 0), "masks": (1, masks), "rows": (1 + masks, 0)}
    for _ in range(ATTEMPTS):
        for name, (rows, behind) in ways.items():
            prompt = finished(model.read("value = compute(\n", "\n"))
            model.after(prompt)
            began = now()
            model.logprobs(prompt, [0] * rows, [0] * rows, [[]] * rows, [(0, behind)] if behind else ())
            fastest[name] = min(fastest[name], since(began))
    row_ms = max(0.0, fastest["rows"] - fastest["plain"]) / masks
    return MaskCosts(max(0.0, fastest["masks"] - fastest["plain"] - masks * row_ms), row_ms, fastest["plain"])


def choose_blocks(
    tree: TokenTree, numbers: Sequence[int], survival: Sequence[float], gain: float, cost_ms: float, costs: MaskCosts
) -> list[Block]:
    """The blocks that give a pass over the nodes `numbers` the most progress per millisecond; possibly none.

    Without mask rows the pass gains `gain` tokens and takes `cost_ms`. `numbers` may include the root.
    """
    worth: list[tuple[float, int]] = []
    for number in numbers:
        share = NEXT_RIGHT * _last_read(tree, number, numbers)
        for kept in survival:
            share *= kept
            worth.append((share, number))
    worth.sort(key=lambda one: -one[0])  # shares decrease within an anchor, so its first slots come first
    best, best_rate, total = 0, gain / cost_ms, gain
    for masks, (share, _) in enumerate(worth[:MOST_MASKS], 1):
        total += share
        rate = total / (cost_ms + costs.predict_ms(masks))
        if rate > best_rate:
            best, best_rate = masks, rate
    chosen = [number for _, number in worth[:best]]
    return [(number, chosen.count(number)) for number in dict.fromkeys(chosen)]


def plant_proposals(
    tree: TokenTree, proposals: MaskProposals, node_of: Callable[[int], int], no_text: Collection[int]
) -> list[list[int]]:
    """Adds the proposals of mask rows after the likeliest next tokens of their anchors; the nodes of each proposal.

    `node_of` maps an anchor of `proposals` to its node. A proposal ends before a token of `no_text`.
    """
    planted = []
    for anchor in dict.fromkeys(proposals.anchors):
        number = node_of(anchor)
        for child in tree.children(number)[:MOST_NEXT]:
            node, above = tree.nodes[child], tree.nodes[number]
            if node.logprob is None or node.start or node.logprob - (above.logprob or 0.0) < LEAST_NEXT:
                continue
            tokens, logprobs = _proposed(proposals, anchor, node.token, no_text)
            planted.append(tree.plant(tokens, child, logprobs))
    return planted


def _proposed(
    proposals: MaskProposals, anchor: int, before: int, no_text: Collection[int]
) -> tuple[list[int], list[float]]:
    """The tokens proposed after the token `before`, and their log-probabilities."""
    tokens: list[int] = []
    logprobs: list[float] = []
    for row in proposals.behind(anchor):
        before, logprob = proposals.choose(row, before)
        if before in no_text or sum(logprobs) + logprob < LEAST_PROPOSED:
            break
        tokens.append(before)
        logprobs.append(logprob)
    return tokens, logprobs


def _last_read(tree: TokenTree, number: int, numbers: Sequence[int]) -> float:
    """The probability that a node is on the right path and none of its children read by the same pass is."""
    behind = (tree.probability(one) for one in numbers if one != ROOT and tree.nodes[one].parent == number)
    return max(0.0, tree.probability(number) - sum(behind))
