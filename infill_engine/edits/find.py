"""Turn an edit into proposals: run the finders, clean the results, check them with a parse, and sort them.

A finder proposes only what syntax and scope make certain. No proposal touches the user's edit or the place where they
type, restores the earlier text, or adds a syntax error.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from infill_engine.edits.changes import Shift, inserted, trimmed
from infill_engine.edits.finders.alike import propose_alike
from infill_engine.edits.finders.awaits import propose_awaits
from infill_engine.edits.finders.fields import propose_fields
from infill_engine.edits.finders.implementations import implementations_in, propose_implementations
from infill_engine.edits.finders.literals import propose_literals
from infill_engine.edits.finders.new_cases import new_cases_in, propose_new_cases
from infill_engine.edits.finders.new_fields import propose_new_fields
from infill_engine.edits.finders.new_imports import propose_imports
from infill_engine.edits.finders.new_methods import new_methods_in, propose_new_methods
from infill_engine.edits.finders.openings import propose_openings
from infill_engine.edits.finders.parameter_docs import propose_parameter_docs
from infill_engine.edits.finders.renames import leaves_uses, propose_renames
from infill_engine.edits.finders.results import propose_results
from infill_engine.edits.finders.signatures import propose_calls
from infill_engine.edits.finders.similar_lines import propose_similar_lines
from infill_engine.edits.finders.unused import propose_unused
from infill_engine.edits.parsed import ParsedEdit
from infill_engine.edits.soundness import is_sound
from infill_engine.edits.source import Source
from infill_engine.edits.source import words as words_in
from infill_engine.edits.templates import WORD
from infill_engine.edits.types import (
    MOST_PROPOSALS,
    Change,
    Consequences,
    Edit,
    EditedText,
    Kind,
    NoEditReason,
    Proposal,
    Span,
    applied,
)
from infill_engine.text import lines, syntax
from infill_engine.text.languages.query_files import load_query
from infill_engine.text.languages.registry import language

SHOW_FROM = 0.5  # the minimum confidence of a proposal
TO_FILL_IN = (Kind.SIGNATURE, Kind.FIELD)  # kinds with values that the user may have to write
NECESSARY = (Kind.RENAME, Kind.SIGNATURE, Kind.FIELD)
REPEATED = (Kind.SIMILAR_LINE, Kind.ALIKE)  # kinds that repeat the edit elsewhere
MOST_CHANGES = 12  # at different places; more is a bulk change
MOST_CHARS = 600  # lines inserted or removed by the user; more is a block of text
MOST_LINES = 12
LONGEST_TEXT = 100_000  # characters; only an excerpt around the edit is examined in a longer text
EXCERPT_CHARS = 60_000
LONGEST_FORMATTED = 5_000  # characters of lines that are compared word by word

Finder = Callable[[ParsedEdit], list[Proposal]]
FINDERS: tuple[Finder, ...] = (
    propose_renames,
    propose_calls,
    propose_implementations,
    propose_results,
    propose_awaits,
    propose_parameter_docs,
    propose_fields,
    propose_new_fields,
    propose_new_cases,
    propose_new_methods,
    propose_imports,
    propose_unused,
    propose_literals,
    propose_openings,
    propose_similar_lines,
    propose_alike,
)


def find_consequences(
    edited: EditedText, *, show_from: float = SHOW_FROM, stop: Callable[[], bool] = lambda: False
) -> Consequences:
    """Return what the edit makes necessary, at most `MOST_PROPOSALS` proposals.

    `stop` is asked between pieces of work whether to end the search.
    """
    if load_query(language(edited.language), "locals") is None:
        return Consequences(reason=NoEditReason.UNSUPPORTED)
    changes = trimmed(edited.before, edited.changes)
    reason = _quiet(edited.before, edited.after, changes) if edited.changes else None
    if reason is not None:
        return Consequences(reason=reason, settled=True)
    first, last = (changes[0].start, changes[-1].end) if changes else (edited.cursor or 0,) * 2
    excerpt = _excerpt(edited.before, first, last)
    if excerpt is None:
        return Consequences(reason=NoEditReason.TOO_LARGE)
    start, end = excerpt
    local = tuple(replace(change, start=change.start - start, end=change.end - start) for change in changes)
    before = Source.parse(edited.before[start:end], edited.language)
    if before is None:
        return Consequences(reason=NoEditReason.UNSUPPORTED)
    growth = sum(change.growth for change in changes)
    after = before.changed(edited.after[start : end + growth], local)
    if local and _in_comments(before, local) and _in_comments_after(after, local):
        return Consequences(reason=NoEditReason.NO_CONSEQUENCE, settled=True)
    half_written = syntax.faults(after.tree) > syntax.faults(before.tree)
    cursor = None if edited.cursor is None else edited.cursor - start
    parsed = ParsedEdit(before, after, local, Shift(local), edited.history, cursor, edited.path, edited.project)
    found = [proposal for other in edited.elsewhere for proposal in _after_other(other, edited.language, after)]
    for finder in FINDERS if local else (propose_alike,):
        if stop():
            return Consequences(reason=NoEditReason.CANCELLED)
        found += finder(parsed)
    whole = (start, end) == (0, len(edited.before))
    if half_written:  # its other half would be missing elsewhere, too
        found = [proposal for proposal in found if proposal.kind not in REPEATED]
    kept = _distinct(_checked(parsed, _clean(found, after.text, cursor)))
    if not whole:
        outside = edited.after[:start], edited.after[end + growth :]
        staying = [
            one for one in kept if not (one.kind.is_consequence and _reaches_out(one, edited.language, *outside))
        ]
        if kept and not staying:
            return Consequences(reason=NoEditReason.TOO_LARGE)
        kept = [_moved(proposal, start) for proposal in staying]
    shown = [proposal for proposal in kept if proposal.confidence >= show_from][:MOST_PROPOSALS]
    if shown:
        return Consequences(tuple(shown))
    return Consequences(
        reason=_why_nothing(parsed, kept, half_written), settled=half_written, half_written=half_written
    )


def _after_other(other: EditedText, language: str, target: Source) -> Iterator[Proposal]:
    """Yield what follows in a text from an edit of another one: of the methods and variants that it declares."""
    changes = trimmed(other.before, other.changes)
    if other.language != language or len(other.before) > LONGEST_TEXT or _quiet(other.before, other.after, changes):
        return
    before = Source.parse(other.before, language)
    if before is None:
        return
    parsed = ParsedEdit(before, before.changed(other.after, changes), changes, Shift(changes))
    yield from new_methods_in(target, parsed)
    yield from new_cases_in(target, parsed)
    yield from implementations_in(target, parsed, Shift(()))


def _why_nothing(edit: ParsedEdit, kept: Sequence[Proposal], half_written: bool) -> NoEditReason:
    """Return why nothing is proposed, although there may be proposals that are too uncertain."""
    if kept:
        return NoEditReason.LOW_CONFIDENCE
    if half_written:
        return NoEditReason.HALF_WRITTEN
    return NoEditReason.AMBIGUOUS if leaves_uses(edit) else NoEditReason.NO_CONSEQUENCE


def _quiet(before: str, after: str, changes: Sequence[Change]) -> NoEditReason | None:
    """Return why the changes have no consequences in any language; None if they may have some."""
    if not changes:
        return NoEditReason.NO_CONSEQUENCE
    if len(changes) > MOST_CHANGES:
        return NoEditReason.BULK
    inserted = "".join(change.new for change in changes)
    removed = "".join(before[change.start : change.end] for change in changes)
    if max(len(inserted), len(removed)) > MOST_CHARS or max(inserted.count("\n"), removed.count("\n")) > MOST_LINES:
        return NoEditReason.BULK
    return NoEditReason.NO_CONSEQUENCE if _is_formatting(before, after, changes) else None


def _is_formatting(before: str, after: str, changes: Sequence[Change]) -> bool:
    """Return whether the changed lines have the same words and signs as before."""
    growth = sum(change.growth for change in changes)
    start, end = lines.around(before, changes[0].start, changes[-1].end)
    if end - start > LONGEST_FORMATTED:
        return False
    return _TOKEN.findall(before, start, end) == _TOKEN.findall(after, start, end + growth)


def _excerpt(text: str, first: int, last: int) -> tuple[int, int] | None:
    """Return the part of the earlier text to examine for changes from `first` to `last`; None if it would be too long.

    It is all of the text, or the outermost definitions around the changes.
    """
    if len(text) <= LONGEST_TEXT:
        return 0, len(text)
    room = (EXCERPT_CHARS - (last - first)) // 2
    if room <= 0:
        return None
    start = _outermost(text, max(0, first - room), first)
    end = min(len(text), last + room)
    following = [found.start() for found in _OUTERMOST.finditer(text, last, end)]
    return start, following[-1] if following and end < len(text) else end


_TOKEN = re.compile(r"\w+|[^\w\s]")
_OUTERMOST = re.compile(r"(?m)^(?=[^\W\d]|@|#)")


def _outermost(text: str, start: int, most: int) -> int:
    if start == 0:
        return 0
    found = _OUTERMOST.search(text, start, most)
    return start if found is None else found.start()


def _reaches_out(proposal: Proposal, language: str, left: str, right: str) -> bool:
    """Return whether words that the proposal replaces also occur outside the excerpt."""
    words = {edit.span.text for edit in proposal.edits if re.fullmatch(r"[\w$]+", edit.span.text)}
    return any(next(words_in(text, word, language), None) is not None for word in words for text in (left, right))


def _clean(found: Sequence[Proposal], text: str, cursor: int | None) -> Iterator[Proposal]:
    """Yield the proposals with sorted edits. Leave out those that change nothing, overlap, or touch the cursor."""
    for proposal in found:
        edits = tuple(sorted({edit for edit in proposal.edits if edit.new != edit.span.text}))
        disjoint = all(one.span.end <= other.span.start for one, other in pairwise(edits))
        if not edits or not disjoint or (cursor is not None and any(_is_at(edit, cursor) for edit in edits)):
            continue
        if all(text[edit.span.start : edit.span.end] == edit.span.text for edit in edits):
            yield replace(proposal, edits=edits)


def _is_at(edit: Edit, cursor: int) -> bool:
    return edit.span.start <= cursor <= edit.span.end and edit.span.end > edit.span.start


def _checked(edit: ParsedEdit, found: Iterator[Proposal]) -> Iterator[Proposal]:
    """Yield the proposals that add no syntax error, break no name, and do not restore the text before the edit."""
    after, faults = edit.after, syntax.faults(edit.after.tree)
    written = {word for _, new in edit.history for word in WORD.findall(new)}
    for proposal in found:
        text = applied(after.text, proposal.edits)
        if text is None or text == edit.before.text:
            continue
        changes = [Change(one.span.start, one.span.end, one.new) for one in proposal.edits]
        made = after.changed(text, changes)
        known = None if proposal.kind in TO_FILL_IN else written
        if syntax.faults(made.tree) <= faults and is_sound(after, made, proposal.edits, known):
            yield proposal


def _distinct(found: Iterator[Proposal]) -> list[Proposal]:
    """Return the best of the proposals with equal edits: necessary ones first, then the rest, best first. What
    repeats the edit is left out where something is necessary: it would be a part of that, or something else."""
    best: dict[tuple[Edit, ...], Proposal] = {}
    for proposal in found:
        known = best.get(proposal.edits)
        if known is None or known.confidence < proposal.confidence:
            best[proposal.edits] = proposal
    ordered = sorted(best.values(), key=lambda proposal: (not proposal.kind.is_consequence, -proposal.confidence))
    necessary = [edit.span for one in ordered if one.kind in NECESSARY for edit in one.edits]
    return [one for one in ordered if one.kind not in REPEATED or not _touches(one, necessary)]


def _touches(proposal: Proposal, spans: Sequence[Span]) -> bool:
    return any(edit.span.start <= span.end and span.start <= edit.span.end for edit in proposal.edits for span in spans)


def _moved(proposal: Proposal, by: int) -> Proposal:
    edits = (Edit(Span(edit.span.start + by, edit.span.end + by, edit.span.text), edit.new) for edit in proposal.edits)
    return replace(proposal, edits=tuple(edits))


def _in_comments(source: Source, changes: Sequence[Change]) -> bool:
    """Return whether every change is inside a comment or only removes blanks."""
    text = source.text
    return all(
        not text[change.start : change.end].strip() or _is_comment(source, change.start, change.end)
        for change in changes
    )


def _in_comments_after(source: Source, changes: Sequence[Change]) -> bool:
    for change, start, _ in inserted(changes):
        lead = len(change.new) - len(change.new.lstrip()) if change.new.strip() else 0
        if not _is_comment(source, start + lead, start + len(change.new.rstrip())):
            return False
    return True


def _is_comment(source: Source, start: int, end: int) -> bool:
    return source.node_at(start, end).type in source.nodes.comments
