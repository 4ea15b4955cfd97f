"""The learned weights of mask rows: matrices of attention, mask embeddings, a Markov head and a confidence head.

layers.{i}.qkv.weight   [query_size + 2 * kv_size, D]    from `first_layer` on, beginning as the trunk's
layers.{i}.qkv.bias     [query_size + 2 * kv_size]
layers.{i}.out.weight   [D, query_size]
mask                    [C, D]      what a slot's row begins with
entry                   [C, D, D]   of the anchor's normed state, added to `mask` and to the anchor's state itself
markov.before           [N + 1, R]  by the previous token, an index into `vocabulary`; N for all others
markov.after            [N, R]      the bias of a token's logit is the product of both
confidence.weight       [D + 1]     of the normed state, and of the log-probability of the slot's choice
confidence.bias         [C]
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from train.mask_rows.layout import SLOTS
from train.trunk.frozen import FrozenTrunk

RANK = 128
WORDS = 32_768  # tokens that mask rows can propose, so that their head is small


def new_weights(trunk: FrozenTrunk, first_layer: int, words: int, seed: int = 0) -> dict[str, Tensor]:
    """Return the weights before training, in float32, for a draft vocabulary of `words` words.

    Mask rows enter at `first_layer`, with the state of their anchor.
    """
    generator = torch.Generator().manual_seed(seed)
    dim = trunk.config.dim
    made: dict[str, Tensor] = {}
    for number in range(first_layer, trunk.config.layers):
        layer = trunk.layers[number]
        made[f"layers.{number}.qkv.weight"] = layer.qkv.float().clone()
        made[f"layers.{number}.qkv.bias"] = layer.bias.float().clone()
        made[f"layers.{number}.out.weight"] = layer.out.float().clone()
    made["mask"] = torch.zeros(SLOTS, dim)
    made["entry"] = torch.zeros(SLOTS, dim, dim)
    made["markov.before"] = torch.randn(words + 1, RANK, generator=generator) * RANK**-0.5
    made["markov.after"] = torch.zeros(words, RANK)
    made["confidence.weight"] = torch.zeros(dim + 1)
    made["confidence.bias"] = torch.zeros(SLOTS)
    return {name: tensor.to(trunk.norm.device) for name, tensor in made.items()}


def first_layer_of(weights: Mapping[str, Tensor]) -> int:
    """Return the layer at which mask rows enter."""
    return min(int(name.split(".")[1]) for name in weights if name.startswith("layers."))


def draft_vocabulary(texts: Iterable[Tensor], size: int, words: int = WORDS) -> Tensor:
    """Return the tokens, of a vocabulary of `size`, that are most frequent in texts, sorted: [min(words, size)].

    Tokens that occur in no text follow in the order of their ids, which is that of their merges: frequent ones first.
    """
    counts = torch.zeros(size)
    for tokens in texts:
        counts += torch.bincount(tokens, minlength=size)
    ranked = (counts - torch.arange(size) / (2 * size)).argsort(descending=True)
    return ranked[:words].sort().values
