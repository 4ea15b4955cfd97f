"""What a region becomes after a next edit, for clients that send the last edits with each request.

    edits of the request ─▶ the texts before each ─▶ log of edits ─▶ next edits ─▶ the region's new text

A proposal is applied as far as it lies in the region. When the client asks elsewhere, it still sends the edits, so the
rest follows there.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from infill_engine.edits.types import PastEdit, Proposal, applied
from infill_engine.process import without_text
from infill_engine.text.languages import language_of
from lsp_server.documents.snapshots import Documents, Snapshot, change_to
from lsp_server.http.question import Question
from lsp_server.suggestions.next_edits.bursts import BULK_SECONDS, REMEMBERED
from lsp_server.suggestions.next_edits.log import EditLog
from lsp_server.suggestions.next_edits.model_search import ModelSearch
from lsp_server.suggestions.next_edits.search import NextEditSearch

MOST_STEPS = 12  # lines of an edit that are changed one by one
MOST_LINES = 50  # of an edit; nothing follows from longer ones

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Retold:
    """A question's document after its edits."""

    question: Question
    next_edits: NextEditSearch
    snapshot: Snapshot

    async def next_region(self, model: ModelSearch | None = None) -> str | None:
        """Return the region after a next edit; None if none follows there. Never raises."""
        try:
            found = await self.next_edits.ask(self.snapshot, len(self.question.before), model=model)
        except Exception as fault:
            log.error("a search for next edits failed: %s", without_text(fault))
            return None
        return _region_after(self.question, [shown.proposal for shown in found.proposals])


def retold(question: Question, uri: str, language: str) -> Retold:
    """Repeat the last edits of a question, in a document of their own. The caller must end its search.

    Their times are unknown, so each counts as made alone.
    """
    question = replace(question, history=question.history[-REMEMBERED:])
    documents, paths = Documents(), {uri: question.path}  # the client's names of all documents, by URI
    log = EditLog()
    times = count(0, 2 * BULK_SECONDS)

    def make(name: str, text: str) -> None:
        before = documents.get(name)
        assert before is not None
        log.changed(documents.change(name, change_to(before, text), arrived=next(times)))

    text, made = _unmade(question)
    documents.open(uri, language, text)
    for number, edit in enumerate(question.history):
        for text in made.get(number, ()):
            make(uri, text)
        if number not in made:  # in another file, or at an unknown place
            name = f"{uri}/{number}"
            paths[name] = edit.path
            documents.open(name, language_of(edit.path) or language, edit.above + edit.old + edit.below)
            make(name, edit.above + edit.new + edit.below)
    snapshot = documents.get(uri)
    assert snapshot is not None
    return Retold(question, NextEditSearch(log, paths.__getitem__, pause_seconds=0), snapshot)


def with_candidate(question: Question, candidate: str) -> str | None:
    """Return the region with a text inserted at the cursor; None if the cursor is outside."""
    assert question.region is not None
    start, end = question.region
    cursor = len(question.before)
    if not start <= cursor <= end:
        return None
    return question.before[start:] + candidate + question.after[: end - cursor]


def _region_after(question: Question, proposals: Iterable[Proposal]) -> str | None:
    """Return the region after the first of the proposals that changes it."""
    assert question.region is not None
    text, (start, end) = question.before + question.after, question.region
    for proposal in proposals:
        inside = tuple(edit for edit in proposal.edits if start <= edit.span.start and edit.span.end <= end)
        if inside and (new := applied(text, inside)) is not None:
            return new[start : end + len(new) - len(text)]
    return None


def _unmade(question: Question) -> tuple[str, dict[int, list[str]]]:
    """Return the text before the document's edits, and the texts that each of them leads to, by its number.

    The edits are undone from the newest on, until one is not found in the text.
    """
    text, made = question.before + question.after, dict[int, list[str]]()
    row = question.before.count("\n")
    for number in reversed(range(len(question.history))):
        edit = question.history[number]
        if _plain(edit.path) != _plain(question.path):
            continue
        earlier = ["\n".join(lines) for lines in _taken_back(text.split("\n"), edit, row)]
        if not earlier:
            break
        made[number] = [*reversed(earlier[:-1]), text]
        text = earlier[-1]
    return text, made


def _taken_back(lines: list[str], edit: PastEdit, near: int) -> list[list[str]]:
    """Return the lines as they were before an edit, the last step first; none if the edit is not found.

    Lines that were replaced one for one are restored one by one, even if others have come between them.
    """
    old, new = edit.old.split("\n")[:-1], edit.new.split("\n")[:-1]
    if max(len(old), len(new)) > MOST_LINES:
        return []
    above, below = edit.above.split("\n")[:-1], edit.below.split("\n")[:-1]
    start = None
    none: list[str] = []
    for top, bottom in ((above, below), (above, none), (none, below), (none, none)):  # some may be outside the text
        place = _found(lines, [*top, *new, *bottom], near - len(top))
        if place is not None:
            start = place + len(top)
            break
    if len(old) != len(new) or len(old) > MOST_STEPS:
        return [] if start is None else [[*lines[:start], *old, *lines[start + len(new) :]]]
    steps: list[list[str]] = []
    for offset in reversed(range(len(old))):
        if old[offset] != new[offset]:
            row = start + offset if start is not None else _found(lines, new[offset : offset + 1], near)
            if row is None:
                return []
            lines = [*lines[:row], old[offset], *lines[row + 1 :]]
            steps.append(lines)
    return steps


def _found(lines: Sequence[str], block: Sequence[str], near: int) -> int | None:
    """Return the row at which some lines begin, the one nearest to `near`; None if they do not occur."""
    if not block:
        return None
    rows = [row for row, line in enumerate(lines) if line == block[0] and lines[row : row + len(block)] == block]
    return min(rows, key=lambda row: abs(row - near), default=None)


def _plain(path: str) -> str:
    return path.replace("\\", "/").lstrip("/")
