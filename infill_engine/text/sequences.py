"""What two sequences have in common."""

from collections.abc import Sequence


def common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the length of the common prefix."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))
