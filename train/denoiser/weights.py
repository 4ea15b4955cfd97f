"""The trained weights of the denoiser: matrices of attention, mask embeddings, a Markov head and a confidence head.

layers.{i}.qkv.weight   [query_size + 2 * kv_size, D]    from `first_layer` on, beginning as the trunk's
layers.{i}.qkv.bias     [query_size + 2 * kv_size]
layers.{i}.out.weight   [D, query_size]
mask                    [C, D]      what a slot's row begins with
entry                   [C, D, D]   unless mask rows enter at layer 0: of the anchor's normed state, added to `mask`
                                    and to the anchor's state itself
markov.before           [N + 1, R]  by the previous token, an index into `vocabulary`; N for all others
markov.after            [N, R]      the bias of a token's logit is the product of both
confidence.weight       [D + 1]     of the normed state, and of the log-probability of the slot's choice
confidence.bias         [C]
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from train.denoiser.frozen import FrozenTrunk
from train.denoiser.layout import SLOTS

RANK = 128


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a denoiser. Mask rows enter at `first_layer`; at 0, they enter without the anchor's state."""

    first_layer: int
    slots: int = SLOTS
    rank: int = RANK


def new_weights(trunk: FrozenTrunk, shape: Shape, words: int, seed: int = 0) -> dict[str, Tensor]:
    """Return the weights before training, in float32, for a draft vocabulary of `words` words."""
    generator = torch.Generator().manual_seed(seed)
    dim = trunk.config.dim
    made: dict[str, Tensor] = {}
    for number in range(shape.first_layer, trunk.config.layers):
        layer = trunk.layers[number]
        made[f"layers.{number}.qkv.weight"] = layer.qkv.float().clone()
        made[f"layers.{number}.qkv.bias"] = layer.bias.float().clone()
        made[f"layers.{number}.out.weight"] = layer.out.float().clone()
    if shape.first_layer:
        made["mask"] = torch.zeros(shape.slots, dim)
        made["entry"] = torch.zeros(shape.slots, dim, dim)
    else:
        made["mask"] = trunk.embedding.float().mean(0).repeat(shape.slots, 1)
    made["markov.before"] = torch.randn(words + 1, shape.rank, generator=generator) * shape.rank**-0.5
    made["markov.after"] = torch.zeros(words, shape.rank)
    made["confidence.weight"] = torch.zeros(dim + 1)
    made["confidence.bias"] = torch.zeros(shape.slots)
    return {name: tensor.to(trunk.norm.device) for name, tensor in made.items()}
