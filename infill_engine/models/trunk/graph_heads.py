"""The heads of the graph: what is predicted after rows and after mask rows."""

from dataclasses import dataclass

from openvino import Node
from openvino import opset15 as op

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.files.shards import Arrays
from infill_engine.models.trunk.graph_nodes import constant
from infill_engine.models.trunk.products import Products, ints

LIKELIEST_OF_BLOCKS = "likeliest_of_blocks"
BLOCK = 128  # tokens of the vocabulary in a block; the largest values of the blocks lead to the likeliest tokens


@dataclass(frozen=True, slots=True)
class GraphWeights:
    """What a graph is made from. `arrays` are those of `prepared`."""

    config: TrunkConfig
    arrays: Arrays
    products: Products
    denoiser: Denoiser | None = None
    terms: Arrays | None = None  # those of the edit adapter, in float32: the plugin would convert others in each branch


class Heads:
    """Makes the nodes of the heads. Branches share its arrays."""

    def __init__(self, weights: GraphWeights) -> None:
        head = "embedding" if weights.config.tied else "head"
        self._codes, self._scales = (weights.arrays[f"{head}.{kind}"] for kind in ("codes", "scales"))
        self._products = weights.products
        if weights.denoiser is not None:
            words = weights.denoiser.vocabulary
            self._draft_codes, self._draft_scales = self._codes[words], self._scales[words]

    def predicted(self, states: Node) -> dict[str, Node]:
        """Return the predictions after normed states [W, D] by the names of the graph's outputs."""
        return _logprobs("logprobs", self._products.of_rows(states, self._codes, self._scales), len(self._codes))

    def denoised(self, denoiser: Denoiser, states: Node) -> dict[str, Node]:
        """Return what normed states [M, D] of mask rows propose, likewise."""
        logits = self._products.of_rows(states, self._draft_codes, self._draft_scales)
        weight = denoiser.arrays["confidence.weight"][:-1].reshape(-1, 1)
        confidence = op.matmul(states, constant(weight), False, False)
        return {**_logprobs("denoised", logits, len(denoiser.vocabulary)), "confidence": confidence}


def _logprobs(name: str, logits: Node, size: int) -> dict[str, Node]:
    """Return log-probabilities for logits [T, size], and the largest ones of each block if there are whole blocks."""
    logprobs = op.log_softmax(logits, -1)
    if size % BLOCK:
        return {name: logprobs}
    blocks = op.reduce_max(op.reshape(logprobs, ints(0, -1, BLOCK), True), ints(2), False)
    return {name: logprobs, f"{name}.{LIKELIEST_OF_BLOCKS}": blocks}
