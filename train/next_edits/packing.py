"""Packs the regions of one text: the beginning that their prompts share is read once.

shared prompt │ rest of region 1 │ rest of region 2 …      a region does not see another one
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from train.next_edits.layout import Laid
from train.trunk.rows import Group, Rows


@dataclass(frozen=True, slots=True)
class Pack:
    """The rows of some regions. `regions` are their layouts, and `places` the pack's row for each row of a layout."""

    rows: Rows
    regions: tuple[Laid, ...]
    places: tuple[Tensor, ...]


def pack(regions: Sequence[Laid]) -> Pack:
    """Return the rows of regions; one region alone shares nothing."""
    shared = _shared(regions) if len(regions) > 1 else 0
    ids, positions = [regions[0].ids[:shared]], [regions[0].positions[:shared]]
    beginning = slice(0, shared)
    groups = [Group(0, shared, regions[0].seen[:shared, :shared], (beginning,))] if shared else []
    places, size = [], shared
    for region in regions:
        ids.append(region.ids[shared:])
        positions.append(region.positions[shared:])
        own = torch.arange(size, size + len(ids[-1]))
        places.append(torch.cat([torch.arange(shared), own]))
        groups.append(Group(size, size + len(own), region.seen[shared:], (beginning, slice(size, size + len(own)))))
        size += len(own)
    return Pack(Rows(torch.cat(ids), torch.cat(positions), groups), tuple(regions), tuple(places))


def _shared(regions: Sequence[Laid]) -> int:
    """Return how many rows at the beginning are the same in all regions; their last prompt rows predict something."""
    most = min(region.prompt for region in regions) - 1
    first = regions[0].ids[:most]
    return min(int((region.ids[:most] == first).long().cumprod(0).sum()) for region in regions)
