"""An edit with both of its texts parsed: the input of every finder."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from infill_engine.edits.changes import Shift
from infill_engine.edits.source import Source
from infill_engine.edits.types import Change
from infill_engine.text.languages.node_types import Syntax
from infill_engine.types import ProjectText

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ParsedEdit:
    """`changes` lead from the text `before` to the text `after`; `shift` maps offsets across them.

    `history` has the lines before and after each of the last edits in any document, the newest last. `cursor` is an
    offset in `after`. `path` and `project` are those of the `EditedText`.
    """

    before: Source
    after: Source
    changes: Sequence[Change]
    shift: Shift
    history: Sequence[tuple[str, str]] = ()
    cursor: int | None = None
    path: str = ""
    project: ProjectText = field(default_factory=ProjectText)
    _known: dict[object, Any] = field(default_factory=dict, compare=False)

    def once(self, find: Callable[["ParsedEdit"], Iterable[T]]) -> Sequence[T]:
        """Return what a function finds. It looks only once, whoever asks."""
        if find not in self._known:
            self._known[find] = tuple(find(self))
        found: Sequence[T] = self._known[find]
        return found

    @property
    def place(self) -> int:
        """Where the edit begins, or where the user is in a text that they have not edited."""
        return self.changes[0].start if self.changes else self.cursor or 0

    @property
    def syntax(self) -> Syntax:
        """The node types of the language."""
        return self.before.syntax

    def back(self, start: int, end: int) -> tuple[int, int] | None:
        """Map a span of the text after to the text before; None if it touches a change."""
        growth = 0
        for change in self.changes:
            first, last = change.start + growth, change.start + growth + len(change.new)
            if first <= end and last >= start:
                return None
            if last >= start:
                break
            growth += change.growth
        return start - growth, end - growth
