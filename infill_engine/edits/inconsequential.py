"""Edits that have no consequences in any language: bulk changes, formatting and comments."""

from collections.abc import Sequence

from infill_engine.edits.changes import inserted
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.tokens import TOKEN
from infill_engine.edits.types import Change, EditedText, NoEditReason
from infill_engine.text import lines

MOST_CHANGES = 12  # at different places; more is a bulk change
MOST_CHARS = 600  # lines inserted or removed by the user; more is a block of text
MOST_LINES = 12
LONGEST_FORMATTED = 5_000  # characters of lines that are compared word by word


def why_inconsequential(edited: EditedText) -> NoEditReason | None:
    """Return why trimmed changes have no consequences; None if they may have some."""
    before, changes = edited.before, edited.changes
    if not changes:
        return NoEditReason.NO_CONSEQUENCE
    if len(changes) > MOST_CHANGES:
        return NoEditReason.BULK
    for text in ("".join(one.new for one in changes), "".join(before[one.start : one.end] for one in changes)):
        if len(text) > MOST_CHARS or text.count("\n") > MOST_LINES:
            return NoEditReason.BULK
    return NoEditReason.NO_CONSEQUENCE if _is_formatting(before, edited.after, changes) else None


def _is_formatting(before: str, after: str, changes: Sequence[Change]) -> bool:
    """Return whether the changed lines have the same words and signs as before."""
    growth = sum(change.growth for change in changes)
    start, end = lines.around(before, changes[0].start, changes[-1].end)
    if end - start > LONGEST_FORMATTED:
        return False
    return TOKEN.findall(before, start, end) == TOKEN.findall(after, start, end + growth)


def is_in_comments(edit: ParsedEdit) -> bool:
    """Return whether every change is inside a comment, before and after it, or only removes blanks."""
    text = edit.before.text
    return all(
        not text[change.start : change.end].strip() or _is_comment(edit.before, change.start, change.end)
        for change in edit.changes
    ) and all(
        _is_comment(edit.after, end - len(change.new.lstrip() or change.new), start + len(change.new.rstrip()))
        for change, start, end in inserted(edit.changes)
    )


def _is_comment(source: ParsedText, start: int, end: int) -> bool:
    return source.node_at(start, end).type in source.nodes.comments
