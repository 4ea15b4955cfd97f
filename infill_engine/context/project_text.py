"""The project's files around a document as one text: which files, in which order, and how much of them."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from infill_engine.types import ProjectText

MOST_CHARS = 600_000  # characters near a document; a search that finds nothing in them takes about 0.05 ms
BETWEEN = "\n\n"  # separates two files


def nearest_first(own: PurePosixPath, others: Iterable[PurePosixPath]) -> list[PurePosixPath]:
    """Return files in order of the number of folders up and down from `own` to them."""
    return sorted(others, key=lambda path: (_distance(own, path), path))


def joined(files: Iterable[tuple[str, str]]) -> ProjectText:
    """Join the text of files, given as path and text, up to the amount that is searched. Reads no more files than
    needed."""
    taken: list[str] = []
    starts: list[tuple[str, int]] = []
    left, at = MOST_CHARS, 0
    for path, text in files:
        taken.append(text[:left])
        starts.append((path, at))
        at += len(taken[-1]) + len(BETWEEN)
        left -= len(text)
        if left <= 0:
            break
    return ProjectText.of(BETWEEN.join(taken), tuple(starts))


def _distance(one: PurePosixPath, other: PurePosixPath) -> int:
    """Return how many folders up and down one file is from the other."""
    common = 0
    for left, right in zip(one.parent.parts, other.parent.parts, strict=False):
        if left != right:
            break
        common += 1
    return len(one.parts) + len(other.parts) - 2 * common
