"""An edit with both of its texts parsed: what every finder starts from."""

from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.edits.changes import Shift
from infill_engine.edits.grammar import Grammar
from infill_engine.edits.source import Source
from infill_engine.edits.types import Change


@dataclass(frozen=True, slots=True)
class ParsedEdit:
    """`changes` lead from the text `before` to the text `after`; `shift` carries offsets across them."""

    before: Source
    after: Source
    grammar: Grammar
    changes: Sequence[Change]
    shift: Shift

    def back(self, start: int, end: int) -> tuple[int, int] | None:
        """Where a span of the text after is in the text before; None if it touches a change."""
        growth = 0
        for change in self.changes:
            first, last = change.start + growth, change.start + growth + len(change.new)
            if first <= end and last >= start:
                return None
            if last >= start:
                break
            growth += change.growth
        return start - growth, end - growth
