"""What of an answer is shown: what is sure enough and, unless the user asks, not unwanted and not invented."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from posixpath import basename, dirname, join, normpath

from infill_engine.text.bodies import without_empty_body
from infill_engine.text.lines import is_one_key
from infill_engine.types import Answer, Candidate, Reason, Source
from lsp_server.documents.snapshots import EditKind, Snapshot, text_between
from lsp_server.protocol.positions import Place, line_content
from lsp_server.protocol.uris import path_of
from lsp_server.suggestions.request_builder import Insertion, RequestBuilder

_QUIET_AFTER = {EditKind.DELETION: Reason.DELETION, EditKind.UNDO: Reason.UNDO}
# A path in a line that imports or links. Absolute addresses, packages and paths with variables are not looked at.
_QUOTED = re.compile(
    r"""\b(?:import|from|require\w*|include\w*|source|export|src|href|url|use|forward|jest\.mock)\b[^"'\n]*"""
    r"""["'](?P<path>\.{1,2}/[\w./@+-]+|[\w./+-]+\.(?:h|hpp|hh|php|css|js|mjs|rb|lua|sh))["']"""
)
_BARE = re.compile(r"\brequire_relative[ (]+[\"'](?P<path>[\w./-]+)[\"']|^[ \t]*(?:pub )?mod (?P<module>\w+);")
_RELATIVE = re.compile(r"^[ \t]*from (?P<dots>\.+)(?P<module>[\w.]*) import\b")


def quiet_at(requests: RequestBuilder, snapshot: Snapshot, place: Place) -> Reason | None:
    """Return why nothing is shown unasked at a place, or None."""
    after = snapshot.last_edit if place[0] == snapshot.cursor[0] else EditKind.NONE  # the last edit was elsewhere
    if after in _QUIET_AFTER:
        return _QUIET_AFTER[after]
    return Reason.DISMISSED if requests.suggestions.dismissals.is_quiet(snapshot, place) else None


def worth_showing(answer: Answer, *, explicit: bool) -> Answer:
    """Return all candidates or none, so that an explicit repeat of the request starts with the same candidates."""
    if not answer.candidates:
        return answer if answer.reason is not None else replace(answer, reason=Reason.BLANK)
    if explicit:
        return answer
    if max(candidate.confidence for candidate in answer.candidates) < answer.show_from:
        return Answer(reason=Reason.LOW_CONFIDENCE)
    best = answer.candidates[0]
    # Keep showing the last character of a candidate that the user is typing.
    if is_one_key(best.text) and best.source is not Source.TYPED_THROUGH:
        return Answer(reason=Reason.ONE_KEY)
    return answer


def unasked(requests: RequestBuilder, insertion: Insertion, answer: Answer) -> Answer:
    """Return the part of an answer that may be shown unasked at a place.

    Left out is what the user typed past, and what names a file that does not exist. If the best text brings back what
    was deleted there, nothing is shown: the user is about to write something else. A block without a body is not shown,
    only the text before it: the cursor would stand behind the block.
    """
    dismissals, deletions = requests.suggestions.dismissals, requests.suggestions.deletions

    def is_past(each: Candidate) -> bool:
        return dismissals.was_typed_past(*insertion.where, insertion.lead + each.text)

    filled = tuple(_without_empty_bodies(answer, insertion))
    new = tuple(each for each in filled if not is_past(each))
    if filled and not new:
        return Answer(reason=Reason.DISMISSED)
    if new and deletions.restores(*insertion.where, insertion.lead + new[0].text):
        return Answer(reason=Reason.DELETION)
    kept = tuple(each for each in new if not _is_invented(requests, insertion, each))
    return replace(answer, candidates=kept) if kept or not answer.candidates else Answer(reason=Reason.LOW_CONFIDENCE)


def _without_empty_bodies(answer: Answer, insertion: Insertion) -> Iterator[Candidate]:
    """Yield the candidates up to a body that is empty, each text once."""
    snapshot, start, _ = insertion.where
    above = next((row for row in range(start[0] - 1, -1, -1) if snapshot.lines[row].strip()), start[0])
    before = text_between(snapshot.lines, (above, 0), start) + insertion.lead
    seen: set[str] = set()
    for each in answer.candidates:
        text = without_empty_body(before, each.text, snapshot.language)
        if text.strip() and text not in seen:
            seen.add(text)
            yield each if text == each.text else replace(each, text=text)


def _is_invented(requests: RequestBuilder, insertion: Insertion, candidate: Candidate) -> bool:
    """Return whether a text names a missing file, unless the text around it leaves no choice: one to be written."""
    documents, project, snapshot = requests.workspace.documents, requests.workspace.project, insertion.snapshot
    known = chain((path_of(other.uri) for other in documents.snapshots()), project.of(snapshot.uri).paths)
    if not invents(*insertion.where, insertion.lead + candidate.text, known):
        return False
    drafts = requests.completion(snapshot, insertion.end).drafts if insertion.is_plain else ()
    return all(draft.text != candidate.text for draft in drafts or () if draft.sure)


def invents(snapshot: Snapshot, start: Place, end: Place, text: str, known: Iterable[str]) -> bool:
    """Return whether a text that would replace `start` to `end` names a file that is missing.

    `known` are paths of other files: of open documents, and of the project.
    """
    left = text_between(snapshot.lines, (start[0], 0), start)
    right = line_content(snapshot.lines[end[0]][end[1] :])
    named = list(_named(left + text + right, len(left), len(left) + len(text)))
    if not named:  # as usual, so the others are not looked at
        return False
    others = tuple(known)
    return not all(_exists(path_of(snapshot.uri), path, others) for path in named)


def _named(rows: str, start: int, end: int) -> Iterator[str]:
    """Yield the relative paths in some lines of which a part is between two offsets."""
    at = 0
    for row in rows.split("\n"):
        for pattern in (_QUOTED, _BARE, _RELATIVE):
            for found in pattern.finditer(row):
                groups = found.groupdict()
                group = "path" if groups.get("path") else "module"
                if groups.get(group) and at + found.start(group) < end and at + found.end(group) > start:
                    up = "../" * (len(groups["dots"]) - 1) if groups.get("dots") else ""
                    yield groups["path"] if group == "path" else up + groups[group].replace(".", "/")
        at += len(row) + 1


def _exists(document: str, path: str, known: Iterable[str]) -> bool:
    """Return whether a path leads from a document to a folder, or to a file, written with its suffix or without."""
    target = normpath(join(dirname(document), path))
    folder, name = dirname(target), basename(target)
    try:
        there = os.listdir(folder)
    except OSError:
        there = []
    there += [basename(other) for other in known if dirname(other) == folder]
    if any(one == name or one.removeprefix("_").startswith(f"{name}.") for one in there):
        return True
    return any(f"/{other}".endswith(f"/{path}") for other in known)  # as a compiler finds headers
