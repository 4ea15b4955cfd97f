"""The part of a long text that is examined after an edit."""

import re
from dataclasses import dataclass, replace

from infill_engine.edits.parsed_text import words
from infill_engine.edits.types import Change, Edit, EditedText, Proposal

LONGEST_TEXT = 100_000  # characters; only an excerpt around the edit is examined in a longer text
EXCERPT_CHARS = 60_000
_OUTERMOST = re.compile(r"(?m)^(?=[^\W\d]|@|#)")
_WORD = re.compile(r"[\w$]+")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of an edited text as an edit of its own, and what is on both sides of it."""

    edited: EditedText
    left: str = ""
    right: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the part is all of the text."""
        return not self.left and not self.right

    def holds_all(self, proposal: Proposal) -> bool:
        """Return whether no word that a proposal replaces occurs outside the part."""
        replaced = {edit.span.text for edit in proposal.edits if _WORD.fullmatch(edit.span.text)}
        sides = (self.left, self.right)
        return not any(True for word in replaced for text in sides for _ in words(text, word, self.edited.language))

    def of_whole(self, proposal: Proposal) -> Proposal:
        """Return a proposal for the part as one for the text."""
        by = len(self.left)
        spans = (replace(one.span, start=one.span.start + by, end=one.span.end + by) for one in proposal.edits)
        edits = (Edit(span, one.new) for span, one in zip(spans, proposal.edits, strict=True))
        return replace(proposal, edits=tuple(edits))


def excerpt_of(edited: EditedText) -> Excerpt | None:
    """Return the text, or the outermost definitions around the changes; None if these would be too long."""
    text, changes = edited.before, edited.changes
    if len(text) <= LONGEST_TEXT:
        return Excerpt(edited)
    first, last = (changes[0].start, changes[-1].end) if changes else (edited.cursor or 0,) * 2
    room = (EXCERPT_CHARS - (last - first)) // 2
    if room <= 0:
        return None
    start, end = max(0, first - room), min(len(text), last + room)
    outermost = _OUTERMOST.search(text, start, first) if start else None
    start = start if outermost is None else outermost.start()
    following = [found.start() for found in _OUTERMOST.finditer(text, last, end)]
    end = following[-1] if following and end < len(text) else end
    stop = end + sum(change.growth for change in changes)
    local = replace(
        edited,
        before=text[start:end],
        after=edited.after[start:stop],
        changes=tuple(Change(one.start - start, one.end - start, one.new) for one in changes),
        cursor=None if edited.cursor is None else edited.cursor - start,
    )
    return Excerpt(local, edited.after[:start], edited.after[stop:])
