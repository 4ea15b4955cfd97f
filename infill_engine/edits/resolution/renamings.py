"""Names that an edit changes: one word replaces another, or a declaration is rewritten."""

import re
from dataclasses import dataclass

from infill_engine.edits.changes import words_changed
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.resolution.captures import defined_in
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import defines
from infill_engine.edits.tokens import NAME

MOST_CHARS = 300  # characters of a rewritten declaration

# Kinds of definitions that may turn into each other and stay the same thing.
_KINDS = (
    {"variable", "hoisted", "assigned", "free", "function"},
    {"import", "alias", "module"},
    {"class", "tag"},
    {"parameter", "promoted"},
    {"member", "method", "routine"},
)


@dataclass(frozen=True, slots=True)
class Renaming:
    """A name that was changed into another, at one or more places of the text before.

    `rewritten` says that more than the name has changed.
    """

    old: str
    new: str
    starts: tuple[int, ...]
    rewritten: bool = False

    def is_defined(self, before: ParsedText) -> bool:
        """Return whether the name was changed where it is defined, which the finder for renames handles."""
        names = Names.of(before, self.old)
        places = (names.at(start) for start in self.starts)
        return any(one is not None and defines(one, before.syntax) for one in places)


def renamings(edit: ParsedEdit) -> list[Renaming]:
    """Return the names that the changes replace, directly or by rewriting the declaration."""
    before = edit.before
    words: dict[tuple[str, str], list[int]] = {}
    declared: list[Renaming] = []
    for start, end, new in words_changed(before.text, edit.changes, before.language):
        old = before.text[start:end]
        if NAME.match(old) and NAME.match(new):
            if old != new:
                words.setdefault((old, new), []).append(start)
        elif len(old) + len(new) < MOST_CHARS:
            growth = sum(change.growth for change in edit.changes if change.end < start)
            declared += _rewritten(edit, start, end, start + growth, start + growth + len(new))
    return [Renaming(old, new, tuple(starts)) for (old, new), starts in words.items()] + declared


def _rewritten(edit: ParsedEdit, start: int, end: int, new_start: int, new_end: int) -> list[Renaming]:
    """Return the names declared in a part of the text before that have another name in its replacement."""
    old, new = defined_in(edit.before, start, end), defined_in(edit.after, new_start, new_end)
    kept = set(re.findall(r"[\w$]+", edit.after.text[new_start:new_end]))
    found = []
    for kinds in _KINDS:
        ones, others = ([one for one in side if one.kind in kinds] for side in (old, new))
        for one, other in zip(ones, others, strict=True) if len(ones) == len(others) else ():
            if one.name != other.name and (one.name not in kept or other.kind == "alias"):
                found.append(Renaming(one.name, other.name, (one.start,), rewritten=True))
    return found
