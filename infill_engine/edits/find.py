"""Turn an edit into proposals: run the finders, and keep what passes the checks.

A finder proposes only what syntax and scope make certain.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from infill_engine.edits.changes import trimmed
from infill_engine.edits.checks.selection import selected
from infill_engine.edits.excerpt import LONGEST_TEXT, excerpt_of
from infill_engine.edits.finders.awaits import propose_awaits
from infill_engine.edits.finders.fields import propose_fields
from infill_engine.edits.finders.implementations import propose_implementations
from infill_engine.edits.finders.literals import propose_literals
from infill_engine.edits.finders.new_cases import propose_new_cases
from infill_engine.edits.finders.new_fields import propose_new_fields
from infill_engine.edits.finders.new_imports import propose_imports
from infill_engine.edits.finders.new_methods import propose_new_methods
from infill_engine.edits.finders.openings import propose_openings
from infill_engine.edits.finders.parameter_docs import propose_parameter_docs
from infill_engine.edits.finders.renames import leaves_uses, propose_renames
from infill_engine.edits.finders.results import propose_results
from infill_engine.edits.finders.signatures import propose_calls
from infill_engine.edits.finders.similar_places import propose_similar_places
from infill_engine.edits.finders.unused import propose_unused
from infill_engine.edits.inconsequential import is_in_comments, why_inconsequential
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import MOST_PROPOSALS, Consequences, EditedText, MayAsk, NoEditReason, Proposal
from infill_engine.text.languages.queries import load_query
from infill_engine.text.languages.registry import language

SHOW_FROM = 0.5  # the minimum confidence of a proposal

Finder = Callable[[ParsedEdit], Iterable[Proposal]]
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
    propose_similar_places,
)


def find_consequences(
    edited: EditedText, *, show_from: float = SHOW_FROM, stop: Callable[[], bool] = lambda: False
) -> Consequences:
    """Return what the edit makes necessary, at most `MOST_PROPOSALS` proposals.

    `stop` is asked between pieces of work whether to end the search.
    """
    if load_query(language(edited.language), "locals") is None:
        return Consequences(reason=NoEditReason.UNSUPPORTED)
    is_edited = bool(edited.changes)
    edited = replace(edited, changes=trimmed(edited.before, edited.changes))
    reason = why_inconsequential(edited) if is_edited else None
    if reason is not None:
        return Consequences(reason=reason, may_ask=MayAsk.NOBODY)
    excerpt = excerpt_of(edited)
    if excerpt is None:
        return Consequences(reason=NoEditReason.TOO_LARGE)
    edit = ParsedEdit.of(excerpt.edited)
    if edit is None:
        return Consequences(reason=NoEditReason.UNSUPPORTED)
    if is_edited and is_in_comments(edit):
        return Consequences(reason=NoEditReason.NO_CONSEQUENCE, may_ask=MayAsk.NOBODY)
    found = [proposal for other in edited.elsewhere for proposal in _after_other(other, edit.after)]
    for finder in FINDERS if is_edited else (propose_similar_places,):
        if stop():
            return Consequences(reason=NoEditReason.CANCELLED)
        found += finder(edit)
    half = edit.is_half_written
    kept = selected(edit, (one for one in found if not (half and one.kind.follows_example)))
    inside = [one for one in kept if excerpt.is_whole or not one.kind.comes_first or excerpt.holds_all(one)]
    if kept and not inside:
        return Consequences(reason=NoEditReason.TOO_LARGE)
    shown = [excerpt.of_whole(one) for one in inside if one.confidence >= show_from][:MOST_PROPOSALS]
    if shown:
        return Consequences(tuple(shown))
    if inside:
        reason = NoEditReason.LOW_CONFIDENCE
    elif half:
        reason = NoEditReason.HALF_WRITTEN
    else:
        reason = NoEditReason.AMBIGUOUS if leaves_uses(edit) else NoEditReason.NO_CONSEQUENCE
    return Consequences(reason=reason, may_ask=MayAsk.LINE if half else MayAsk.MODEL)


def _after_other(other: EditedText, target: ParsedText) -> Iterator[Proposal]:
    """Yield what follows in a text from an edit of another one: of the methods and variants that it declares."""
    other = replace(other, changes=trimmed(other.before, other.changes))
    if other.language != target.language or len(other.before) > LONGEST_TEXT or why_inconsequential(other):
        return
    edit = ParsedEdit.of(other)
    if edit is not None:
        for finder in (propose_new_methods, propose_new_cases, propose_implementations):
            yield from finder(edit, target)
