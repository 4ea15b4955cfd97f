"""What is not shown unasked at a place, whatever its confidence."""

from collections.abc import Iterator
from dataclasses import replace

from infill_engine.text.bodies import without_empty_body
from infill_engine.types import Answer, Candidate, Reason
from lsp_server.documents.snapshots import EditKind, Snapshot, text_between
from lsp_server.protocol.positions import Place
from lsp_server.protocol.uris import path_of
from lsp_server.suggestions.invented import invents
from lsp_server.suggestions.request_builder import RequestBuilder

_QUIET_AFTER = {EditKind.DELETION: Reason.DELETION, EditKind.UNDO: Reason.UNDO}


def quiet_at(requests: RequestBuilder, snapshot: Snapshot, place: Place) -> Reason | None:
    """Return why nothing is shown unasked at a place, or None."""
    after = snapshot.last_edit if place[0] == snapshot.cursor[0] else EditKind.NONE  # the last edit was elsewhere
    if after in _QUIET_AFTER:
        return _QUIET_AFTER[after]
    return Reason.DISMISSED if requests.suggestions.dismissals.is_quiet(snapshot, place) else None


def unasked(
    requests: RequestBuilder, snapshot: Snapshot, start: Place, end: Place, lead: str, answer: Answer
) -> Answer:
    """Return the part of an answer that may be shown unasked, where `lead` and a text would replace `start` to `end`.

    Left out is what the user typed past, and what names a file that does not exist. If the best text brings back what
    was deleted there, nothing is shown: the user is about to write something else. A block without a body is not shown,
    only the text before it: the cursor would stand behind the block.
    """
    dismissals, deletions = requests.suggestions.dismissals, requests.suggestions.deletions

    def is_past(each: Candidate) -> bool:
        return dismissals.was_typed_past(snapshot, start, end, lead + each.text)

    filled = tuple(_without_empty_bodies(answer, snapshot, start, lead))
    new = tuple(each for each in filled if not is_past(each))
    if filled and not new:
        return Answer(reason=Reason.DISMISSED)
    if new and deletions.restores(snapshot, start, end, lead + new[0].text):
        return Answer(reason=Reason.DELETION)
    kept = tuple(each for each in new if not _is_invented(requests, snapshot, start, end, lead, each))
    return replace(answer, candidates=kept) if kept or not answer.candidates else Answer(reason=Reason.LOW_CONFIDENCE)


def _without_empty_bodies(answer: Answer, snapshot: Snapshot, start: Place, lead: str) -> Iterator[Candidate]:
    """Yield the candidates up to a body that is empty, each text once."""
    above = next((row for row in range(start[0] - 1, -1, -1) if snapshot.lines[row].strip()), start[0])
    before = text_between(snapshot.lines, (above, 0), start) + lead
    seen: set[str] = set()
    for each in answer.candidates:
        text = without_empty_body(before, each.text, snapshot.language)
        if text.strip() and text not in seen:
            seen.add(text)
            yield each if text == each.text else replace(each, text=text)


def _is_invented(
    requests: RequestBuilder, snapshot: Snapshot, start: Place, end: Place, lead: str, candidate: Candidate
) -> bool:
    """Return whether a text names a missing file, unless the text around it leaves no choice: one to be written."""
    documents, project = requests.workspace.documents, requests.workspace.project
    known = (*(path_of(other.uri) for other in documents.snapshots()), *project.paths(snapshot.uri))
    if not invents(snapshot, start, end, lead + candidate.text, known):
        return False
    drafts = requests.completion(snapshot, end).drafts if start == end and not lead else ()
    return all(draft.text != candidate.text for draft in drafts or () if draft.sure)
