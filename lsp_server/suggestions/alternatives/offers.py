"""Alternatives as edits: repairs of the syntax, then the engine's candidates that leave the document valid."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from hashlib import blake2b

from infill_engine.text.repairs import repairs
from infill_engine.text.validity import faults_of, is_strict
from infill_engine.types import Answer, Candidate
from lsp_server.documents.snapshots import Snapshot, text_between
from lsp_server.protocol.positions import line_content
from lsp_server.suggestions.alternatives.targets import LARGEST_CHECKED, Extent, Target
from lsp_server.suggestions.request_builder import RequestBuilder

LEAST_LEFT = 0.4  # of the budget, for another target to be tried
LEAST_KEPT = 0.6  # of a broken line's tokens: what keeps fewer of them is another line

_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Replacement:
    """`new` instead of `old`, which is the text of `span`."""

    span: Extent
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Offer:
    """One alternative to a target: edits that belong together."""

    target: Target
    edits: tuple[Replacement, ...]
    gain: float | None

    @property
    def preview(self) -> str:
        """The new text in one line; its first piece, if every hole gets the same one."""
        texts = list(dict.fromkeys(edit.new for edit in self.edits))
        return " ".join(" … ".join(texts).split())

    def id_in(self, snapshot: Snapshot) -> str:
        """Return an id that is the same for the same edits of the same text."""
        named = [snapshot.uri, *(f"{edit.span}\0{edit.old}\0{edit.new}" for edit in self.edits)]
        return blake2b("\0".join(named).encode(errors="replace"), digest_size=8).hexdigest()


async def offers_for(requests: RequestBuilder, snapshot: Snapshot, target: Target, due: float) -> list[Offer]:
    """Return the alternatives to a target, best first, by `due` (seconds of `deadline.now`).

    Where the syntax says how a broken line can be repaired, the model is not asked. Nor is it asked in a data language,
    where what is missing is data.
    """
    most = requests.workspace.settings.candidates
    if target.broken:
        around = snapshot.syntax.around(snapshot.lines, target.spans[0][0])
        first, last = (0, 0) if around is None else (around[1], around[1] + around[0].root_node.end_point[0])
        repaired_lines = await asyncio.to_thread(list, repaired(snapshot, target, first, last))
        if repaired_lines or target.error_elsewhere or is_strict(snapshot.language):
            return repaired_lines[:most]
    request = requests.rewrite(snapshot, target.spans, several_lines=target.several_lines, repeats=target.repeats)
    answer = await requests.engine.alternatives(snapshot.uri, request, due)
    valid = valid_offers(snapshot, target, answer)
    # Parsing a document once for each alternative takes too long for the event loop.
    offers = await asyncio.to_thread(list, valid) if _is_checked(snapshot, target) else list(valid)
    return offers[:most]


def repaired(snapshot: Snapshot, target: Target, first: int, last: int) -> Iterator[Offer]:
    """Yield the repairs of a broken line that a parse of the rows from `first` to `last` confirms."""
    row = target.spans[0][0][0]
    line, lines = line_content(snapshot.lines[row]), snapshot.lines
    after = lines[row][len(line) :] + "".join(lines[row + 1 : last + 1])
    start = len(line) - len(line.lstrip())
    for text in repairs(
        "".join(lines[first:row]), line, after, snapshot.language, error_in_line=not target.error_elsewhere
    ):
        edit = Replacement(((row, start), (row, len(line))), line[start:], text[start:])
        yield Offer(replace(target, label="line"), (edit,), None)


def valid_offers(snapshot: Snapshot, target: Target, answer: Answer) -> Iterator[Offer]:
    """Yield the offers that add no fault to a checked document, and that repair a broken target."""
    checked = _is_checked(snapshot, target)
    faults = faults_of("".join(snapshot.lines), snapshot.language) if checked else 0
    for candidate in answer.candidates:
        offer = Offer(target, _edits(snapshot, target, candidate), candidate.gain)
        if not offer.edits:
            continue
        if checked:
            left = faults_of(applied(snapshot, offer.edits), snapshot.language)
            if left > faults or (target.broken and (left == faults or not _keeps_line(snapshot, offer.edits[0]))):
                continue
        yield offer


def _keeps_line(snapshot: Snapshot, edit: Replacement) -> bool:
    """Return whether enough of the line's tokens are left after an edit in it."""
    (row, start), (_, end) = edit.span
    line = line_content(snapshot.lines[row])
    old, new = _TOKEN.findall(line), _TOKEN.findall(line[:start] + edit.new + line[end:])
    kept = sum(match.size for match in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    return kept >= LEAST_KEPT * len(old)


def _is_checked(snapshot: Snapshot, target: Target) -> bool:
    """Return whether the whole document is parsed with every alternative."""
    return (is_strict(snapshot.language) or target.broken) and snapshot.size <= LARGEST_CHECKED


def _edits(snapshot: Snapshot, target: Target, candidate: Candidate) -> tuple[Replacement, ...]:
    line_end = "\r\n" if snapshot.lines[0].endswith("\r\n") else "\n"
    fills = candidate.fills or (candidate.text,)
    edits = (
        Replacement(span, text_between(snapshot.lines, *span), fill.replace("\n", line_end))
        for span, fill in zip(target.spans, fills, strict=True)
    )
    return tuple(edit for edit in edits if edit.new != edit.old)


def applied(snapshot: Snapshot, edits: Sequence[Replacement]) -> str:
    """Return the document's text with the edits made."""
    parts, at = [], (0, 0)
    for edit in edits:
        parts += [text_between(snapshot.lines, at, edit.span[0]), edit.new]
        at = edit.span[1]
    end = len(snapshot.lines) - 1, len(snapshot.lines[-1])
    return "".join(parts) + text_between(snapshot.lines, at, end)
