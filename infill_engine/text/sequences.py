"""What two sequences have in common."""

from collections import Counter
from collections.abc import Sequence


def common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def common_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common prefix and of the common suffix of what remains."""
    left = common_prefix(one, other)
    return left, common_prefix(one[left:][::-1], other[left:][::-1])


def dice(one: Counter[str], other: Counter[str]) -> float:
    """Return the share of two multisets that they have in common, 0 to 1 (Dice 1945)."""
    return 2 * (one & other).total() / max(1, one.total() + other.total())
