"""Reads the edits in a prompt: from a patch, or from the lines before and after."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from infill_engine.edits.types import PastEdit
from infill_engine.text.sequences import common_ends

CONTEXT = 3  # lines on either side of an edit, as in most patches


def edits_of_patch(patch: str) -> Iterator[PastEdit]:
    """Yield the edits of a unified diff, in its order. The lines between two edits of a hunk are the context of both.

    Line numbers are ignored, because some clients invent them. So are lines that belong to no hunk.
    """
    path, hunk = "", list[str]()
    lines = iter(patch.split("\n"))
    for line in lines:
        if line.startswith("--- "):
            following = next(lines, "")
            if following.startswith("+++ "):
                yield from _edits_of_hunk(path, hunk)
                path, hunk = following[4:].strip().removeprefix("b/"), []
                continue
            hunk.append(line)  # a removed line that begins with "-- "
            line = following
        if line[:1] in {" ", "-", "+"}:
            hunk.append(line)
        else:
            yield from _edits_of_hunk(path, hunk)
            hunk = []
    yield from _edits_of_hunk(path, hunk)


def edit_of_lines(path: str, old: str, new: str) -> PastEdit:
    """Return the edit that replaced some lines with others. Equal lines at both ends become its context."""
    before, after = _lines(old), _lines(new)
    top, bottom = common_ends(before, after)
    end = len(after) - bottom
    return PastEdit(path, *map(_joined, (before[top : len(before) - bottom], after[top:end], after[:top], after[end:])))


def _edits_of_hunk(path: str, hunk: Sequence[str]) -> Iterator[PastEdit]:
    groups = [(kept, [*lines]) for kept, lines in groupby(hunk, lambda line: line[0] == " ")]
    for number, (kept, lines) in enumerate(groups):
        if kept:
            continue
        above, below = (
            [line[1:] for line in (groups[at][1] if 0 <= at < len(groups) else [])] for at in (number - 1, number + 1)
        )
        old, new = ([line[1:] for line in lines if line[0] == sign] for sign in "-+")
        if len(groups) == 1:  # without context, a blank line stands for no line
            old, new = ([] if side == [""] else side for side in (old, new))
        yield PastEdit(path, *map(_joined, (old, new, above[-CONTEXT:], below[:CONTEXT])))


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _lines(text: str) -> list[str]:
    """Return the lines of a text without their ends; none for an empty text."""
    return text.removesuffix("\n").split("\n") if text else []
