"""What two sequences have in common."""

from collections.abc import Sequence


def common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def common_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common prefix and of the common suffix of what remains."""
    left = common_prefix(one, other)
    return left, common_prefix(one[left:][::-1], other[left:][::-1])
