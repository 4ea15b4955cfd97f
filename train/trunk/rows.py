"""Rows that go through the trunk together, in groups: what each of them sees of rows read before, and of each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Group:
    """Rows `first` to `last`. They see keys of the rows that were read before, `kept`, and of these, `own`.

    `seen` [last - first, K] says which of the K keys in `kept` and `own`, in this order, each row sees.
    """

    first: int
    last: int
    seen: Tensor
    own: tuple[slice, ...]
    kept: tuple[slice, ...] = ()

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(frozen=True, slots=True)
class Rows:
    """T rows. The groups contain each of them once, in order."""

    ids: Tensor  # [T]
    positions: Tensor  # [T]
    groups: Sequence[Group]

    def __len__(self) -> int:
        return len(self.ids)


def following(
    first: int, last: int, before: int = 0, own: tuple[slice, ...] = (), kept: tuple[slice, ...] = ()
) -> Group:
    """Return a group of rows that follow each other, after `before` keys in `kept` and `own`, which all of them see."""
    size = last - first
    seen = torch.cat([torch.ones(size, before), torch.ones(size, size).tril()], 1).bool()
    return Group(first, last, seen, (*own, slice(first, last)), kept)
