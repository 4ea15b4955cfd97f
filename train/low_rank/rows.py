"""Rows that go through the trunk together: some that all others see, and groups that do not see each other."""

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Group:
    """Rows `first` to `last`. They see the shared rows and, of each other, what `seen` says."""

    first: int
    last: int
    seen: Tensor  # [last - first, shared + last - first], or without the shared rows for the shared rows themselves


@dataclass(frozen=True, slots=True)
class Rows:
    """T rows in groups. The first `shared` rows are a group of their own, if there are any."""

    ids: Tensor  # [T]
    positions: Tensor  # [T]
    shared: int
    groups: tuple[Group, ...]

    def __len__(self) -> int:
        return len(self.ids)
