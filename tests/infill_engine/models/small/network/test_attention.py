"""The kernel for CPUs against the softmax written out."""

import torch

from infill_engine.models.small.network.attention import Looked, attend

HIDDEN = -1e9


def test_sets_merged_are_one_softmax_over_all_of_them() -> None:
    torch.manual_seed(0)
    padded = torch.zeros(1, 1, 1, 20)
    padded[..., 13:] = HIDDEN
    apart = torch.where(torch.arange(6)[:, None] // 3 == torch.arange(6) // 3, 0.0, HIDDEN)[None, None]
    masks = (padded, apart, torch.full((1, 1, 1, 9), HIDDEN), None)  # the third is hidden altogether
    sets = [_looked(6, keys, mask) for keys, mask in zip((20, 6, 9, 5), masks, strict=True)]
    merged = attend(sets)
    trained = attend([Looked(each.query.requires_grad_(), each.key, each.value, each.mask) for each in sets])
    assert trained.requires_grad
    torch.testing.assert_close(merged, trained.detach())
    shown = attend([sets[number] for number in (0, 1, 3)]).detach()
    torch.testing.assert_close(merged, shown)


def _looked(slots: int, keys: int, mask: torch.Tensor | None) -> Looked:
    query, key, value = (torch.randn(1, 2, length, 16) for length in (slots, keys, keys))
    return Looked(query, key, value, mask)
