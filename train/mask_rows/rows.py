"""The mask rows of a text: what they begin with, and what they see, as groups of rows.

A block's rows see the text up to their anchor and each other. Some blocks form a group, so that few products are needed
and little of them is hidden.
"""

from collections.abc import Iterator, Mapping

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from train.mask_rows.layout import SLOTS, Blocks
from train.mask_rows.weights import first_layer_of
from train.trunk.frozen import FrozenTrunk
from train.trunk.network import NOTHING, KeysValues, Products, embedded, forward, normed
from train.trunk.rows import Group, Rows, following

GROUPED = 16  # blocks of a group on a CPU; a device takes all at once


def block_states(trunk: FrozenTrunk, products: Products, weights: Mapping[str, Tensor], blocks: Blocks) -> Tensor:
    """Return the normed states [A * C, D] of the mask rows after a text's anchors. The text has no gradients.

    `weights` have the names of `new_weights`, in the trunk's type.
    """
    first, last = first_layer_of(weights), trunk.config.layers
    entered, kept = read(trunk, products, blocks.tokens, first)
    x = entering(trunk, weights, entered[blocks.anchors.to(entered.device)], first)
    grouped = GROUPED if x.device.type == "cpu" else len(blocks.anchors)
    rows = rows_of(blocks.anchors, grouped)
    return normed(trunk, forward(trunk, products, weights, x, rows, kept, range(first, last))[0])


@torch.no_grad()
def read(trunk: FrozenTrunk, products: Products, tokens: Tensor, first: int) -> tuple[Tensor, dict[int, KeysValues]]:
    """Read tokens [T]. Returns their states [T, D] before a layer, and keys and values in it and those above."""
    size = len(tokens)
    rows = Rows(tokens, torch.arange(size), [following(0, size)])
    x = embedded(trunk, rows)
    if first:
        x, _ = forward(trunk, products, NOTHING, x, rows, layers=range(first))
    return x, forward(trunk, products, NOTHING, x, rows, layers=range(first, trunk.config.layers))[1]


def entering(trunk: FrozenTrunk, weights: Mapping[str, Tensor], anchors: Tensor, first: int) -> Tensor:
    """Return what mask rows begin with [A * C, D], of the states [A, D] of their anchors before a layer."""
    norm, config = trunk.layers[first].attention_norm, trunk.config
    known = F.rms_norm(anchors, (config.dim,), norm, config.norm_epsilon)
    added = F.linear(known, weights["entry"].flatten(0, 1)).unflatten(-1, (-1, config.dim))
    found: Tensor = weights["mask"] + anchors[:, None] + added
    return found.flatten(0, 1)


def rows_of(anchors: Tensor, grouped: int) -> Rows:
    """Return the mask rows of blocks after anchors [A], some blocks in a group. They have no tokens."""
    positions = (anchors[:, None] + 1 + torch.arange(SLOTS)).flatten()
    return Rows(torch.zeros_like(positions), positions, list(_groups(anchors, grouped)))


def _groups(anchors: Tensor, grouped: int) -> Iterator[Group]:
    first = 0
    for some in anchors.split(grouped):
        size, reach = len(some) * SLOTS, int(some.max()) + 1
        block = torch.arange(size) // SLOTS
        context = torch.arange(reach) <= some[block][:, None]
        own = block == block[:, None]
        yield Group(
            first, first + size, torch.cat([context, own], 1), (slice(first, first + size),), (slice(0, reach),)
        )
        first += size
