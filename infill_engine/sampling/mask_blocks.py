"""Mask rows in the search: where a pass puts them, and what becomes of what they propose.

A pass reads nodes of the tree. Mask rows behind some of them propose how the text goes on after each one's next token.
The next pass reads the proposals as it reads retrieved texts. So a pass proposes, and the next one verifies.
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
NEXT_RIGHT = 0.7  # how often the likeliest next token of a node on the right way is right
LEAST_NEXT = log(0.2)  # of a node's next token, for a proposal to be put behind it
MOST_NEXT = 2  # next tokens of a node that proposals are put behind
LEAST_PROPOSED = log(0.05)  # of all tokens of a proposal together

Block = tuple[int, int]  # the anchor, as the number of a node, and how many mask rows are behind it


@dataclass(frozen=True, slots=True)
class MaskCosts:
    """What mask rows cost, in milliseconds: a pass that has any, and each row of a pass.

    A pass over one row without masks takes `one_row_ms`.
    """

    pass_ms: float
    row_ms: float
    one_row_ms: float = 0.0

    def predict_ms(self, masks: int) -> float:
        """What so many mask rows add to a pass, and the verification of what they propose to the next one."""
        return self.pass_ms + 2 * masks * self.row_ms if masks else 0.0


def measured_mask_costs(model: TrunkModel) -> MaskCosts:
    """What mask rows cost on this machine: each way to use a pass is tried a few times."""
    masks, fastest = len(model.survival), dict.fromkeys(("plain", "masks", "rows"), EVER_MS)
    ways = {"plain": (1, 0), "masks": (1, masks), "rows": (1 + masks, 0)}
    for _ in range(ATTEMPTS):
        for name, (rows, behind) in ways.items():
            prompt = finished(model.read("value = compute(\n", "\n"))
            model.logprobs(prompt, (), (), ())
            began = now()
            model.logprobs(prompt, [0] * rows, [0] * rows, [[]] * rows, [(0, behind)] if behind else ())
            fastest[name] = min(fastest[name], since(began))
    row_ms = max(0.0, fastest["rows"] - fastest["plain"]) / masks
    return MaskCosts(max(0.0, fastest["masks"] - fastest["plain"] - masks * row_ms), row_ms, fastest["plain"])


def choose_blocks(
    tree: TokenTree, numbers: Sequence[int], survival: Sequence[float], gain: float, cost_ms: float, costs: MaskCosts
) -> list[Block]:
    """The blocks that give a pass over the nodes `numbers` the most progress for what it costs; none may be best.

    Without mask rows the pass gives `gain`, in tokens, and takes `cost_ms`. `numbers` may have the root in it.
    """
    worth: list[tuple[float, int]] = []
    for number in numbers:
        share = NEXT_RIGHT * _last_read(tree, number, numbers)
        for kept in survival:
            share *= kept
            worth.append((share, number))
    worth.sort(key=lambda one: -one[0])  # within an anchor shares fall, so that the first slots come first
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
    """Puts what mask rows propose behind the likeliest next tokens of their anchors; the nodes of each proposal.

    `node_of` gives the node of an anchor of `proposals`. A proposal ends before a token of `no_text`.
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
    """The tokens that are proposed behind the token `before`, and their log-probabilities."""
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
    """How likely a node is on the right way, and none of those behind it that the same pass reads is."""
    behind = (tree.probability(one) for one in numbers if one != ROOT and tree.nodes[one].parent == number)
    return max(0.0, tree.probability(number) - sum(behind))
