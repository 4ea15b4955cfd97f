"""A document's tree-sitter tree, kept up to date by edits and parsed only when somebody asks.

Re-parsing after one keystroke is no constant: it visits every child of the root and of each list it cannot reuse, 1 to
7 ms in files of 5,000 to 20,000 lines. So every version earns a little time and the tree is parsed when what was earned
covers what the last parse took; in between there is no tree, and callers parse the few lines around the cursor.
"""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Tree

LARGEST_BYTES = 2_000_000  # a cold parse takes about 0.15 ms per thousand bytes
EARNED_MS = 1.0  # by each version, whether it is parsed or not
MOST_EARNED_MS = 50.0

Point = tuple[int, int]  # row, column in UTF-8 bytes


class SyntaxTree:
    """The tree of one version. Only what `tree` has found out ever changes."""

    __slots__ = ("_base", "_cost_ms", "_earned_ms", "_language", "_tree", "_tried")

    def __init__(self, language: str | None, base: "Tree | None", earned_ms: float, cost_ms: float) -> None:
        self._language = language  # None: never a tree
        self._base = base  # of an earlier version, edited to fit this one
        self._earned_ms = earned_ms
        self._cost_ms = cost_ms
        self._tree: Tree | None = None
        self._tried = False

    @classmethod
    def of(cls, language: str, lines: Sequence[str]) -> "SyntaxTree":
        """For a document just opened. Its first parse, cold, is always granted."""
        return cls(None if _counts_differently(lines) else language, None, 0.0, 0.0)

    @classmethod
    def none(cls) -> "SyntaxTree":
        """For a text that never has a tree."""
        return cls(None, None, 0.0, 0.0)

    def edited(
        self,
        fresh: Sequence[str],
        start_byte: int,
        old_end_byte: int,
        new_end_byte: int,
        start: Point,
        old_end: Point,
        new_end: Point,
    ) -> "SyntaxTree":
        """For the version that an edit leads to; `fresh` are the lines it wrote. Offsets and points are in bytes."""
        if self._language is None or _counts_differently(fresh):
            return SyntaxTree.none()
        base = self._tree if self._tree is not None else self._base
        if base is not None:
            base = base.copy()
            base.edit(start_byte, old_end_byte, new_end_byte, start, old_end, new_end)
        earned_ms = min(self._earned_ms + EARNED_MS, MOST_EARNED_MS)
        return SyntaxTree(self._language, base, earned_ms, self._cost_ms)

    def tree(self, lines: Sequence[str], size: int) -> "Tree | None":
        """The tree of this version, whose text is `lines` of `size` bytes; None if there is none or it is not due.

        The answer for one version never changes.
        """
        if self._tried:
            return self._tree
        self._tried = True
        if self._language is None or size > LARGEST_BYTES:
            return None
        if self._base is not None and self._earned_ms < self._cost_ms:
            return None
        from infill_engine.syntax import parser_for

        parser = parser_for(self._language)
        if parser is None:
            self._language = None
            return None
        began = time.perf_counter()
        source = "".join(lines).encode()
        cold = self._base is None
        self._tree = parser.parse(source) if self._base is None else parser.parse(source, self._base)
        self._base = None
        took_ms = (time.perf_counter() - began) * 1000
        if not cold:
            self._earned_ms = max(0.0, self._earned_ms - took_ms)
            self._cost_ms = took_ms
        return self._tree


def _counts_differently(lines: Sequence[str]) -> bool:
    """Whether tree-sitter, to which a lone carriage return ends no line, would count other rows than we do."""
    return any(line[-1:] == "\r" for line in lines)
