"""An edit with both of its texts parsed: the input of every finder."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from infill_engine.edits.changes import Shift, inserted
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import Change, Edit, EditedText
from infill_engine.text import syntax
from infill_engine.text.languages.node_types import Syntax
from infill_engine.types import ProjectText

T = TypeVar("T")


@dataclass(frozen=True)
class ParsedEdit:
    """`changes` lead from the text `before` to the text `after`.

    `history` has the lines before and after each of the last edits in any document, the newest last. `cursor` is an
    offset in `after`. `path` and `project` are those of the `EditedText`.
    """

    before: ParsedText
    after: ParsedText
    changes: Sequence[Change]
    history: Sequence[tuple[str, str]] = ()
    cursor: int | None = None
    path: str = ""
    project: ProjectText = field(default_factory=ProjectText)
    _known: dict[object, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, edited: EditedText) -> "ParsedEdit | None":
        """Parse both texts; None if the language has no grammar or the text would crash its parser."""
        before = ParsedText.parse(edited.before, edited.language)
        if before is None:
            return None
        after, changes = before.changed(edited.after, edited.changes), edited.changes
        return cls(before, after, changes, edited.history, edited.cursor, edited.path, edited.project)

    def once(self, find: Callable[["ParsedEdit"], Iterable[T]]) -> Sequence[T]:
        """Return what a function finds. It looks only once, whoever asks."""
        if find not in self._known:
            self._known[find] = tuple(find(self))
        found: Sequence[T] = self._known[find]
        return found

    @cached_property
    def shift(self) -> Shift:
        """Maps offsets of the text before to the text after."""
        return Shift(self.changes)

    @property
    def place(self) -> int:
        """Where the edit begins, or where the user is in a text that they have not edited."""
        return self.changes[0].start if self.changes else self.cursor or 0

    @property
    def syntax(self) -> Syntax:
        """The node types of the language."""
        return self.before.syntax

    @property
    def is_half_written(self) -> bool:
        """Whether the edit broke the syntax. Its other half would be missing elsewhere, too."""
        return syntax.faults(self.after.tree) > syntax.faults(self.before.tree)

    def replacing(self, start: int, end: int, new: str) -> Edit | None:
        """Return the edit that replaces a part of the text before; None if the user has edited it already."""
        return self.before.replacing(self.shift, start, end, new)

    @cached_property
    def _backwards(self) -> Shift:
        back = inserted(self.changes)
        return Shift([Change(start, end, self.before.text[one.start : one.end]) for one, start, end in back])

    def back(self, start: int, end: int) -> tuple[int, int] | None:
        """Map a span of the text after to the text before; None if it touches a change."""
        return self._backwards.span(start, end)
