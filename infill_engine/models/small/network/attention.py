"""One softmax over several sets of keys, each with its own queries.

The canvas attends to three sets: both streams and itself. Its queries are rotated for the frame of each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

# For additive masks. It is finite, so that a slot that sees nothing still has a softmax, and it fits half precision.
HIDDEN = -3e4


@dataclass(frozen=True, slots=True)
class Looked:
    """Queries [B, H, M, hd] for keys and values [B or 1, H, T, hd], with an additive mask [B or 1, 1, M or 1, T]."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None


def attend(sets: Sequence[Looked]) -> Tensor:
    """Return [B, H, M, hd]: the values of all sets, weighted by one softmax over all keys."""
    query = sets[0].query
    if query.device.type == "cpu" and len(query) == 1 and not query.requires_grad:
        return _merged(sets)
    scale = query.shape[-1] ** -0.5
    scores = [(each.query @ each.key.transpose(-1, -2)) * scale for each in sets]
    hidden = [score if each.mask is None else score + each.mask for score, each in zip(scores, sets, strict=True)]
    weights = torch.softmax(torch.cat(hidden, -1), -1, dtype=torch.float32).to(query.dtype)
    shares = weights.split([each.key.shape[2] for each in sets], -1)
    return torch.stack([share @ each.value for share, each in zip(shares, sets, strict=True)]).sum(0)


def _merged(sets: Sequence[Looked]) -> Tensor:
    """Like `attend`, with torch's CPU kernel per set, which never materialises the scores (arXiv 2205.14135).

    The kernel returns the logarithm of each softmax denominator, which gives the weight of each set.
    """
    parts = [
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
            each.query, each.key, each.value, attn_mask=_expanded(each)
        )
        for each in sets
    ]
    shares = torch.softmax(torch.stack([sums for _, sums in parts]), 0).unsqueeze(-1).to(sets[0].query.dtype)
    return torch.stack([attended for attended, _ in parts]).mul_(shares).sum(0)


def _expanded(looked: Looked) -> Tensor | None:
    if looked.mask is None:
        return None
    return looked.mask.expand(1, 1, looked.query.shape[2], looked.key.shape[2])
