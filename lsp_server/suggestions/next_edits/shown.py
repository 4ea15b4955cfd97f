"""Tracks shown proposals while the text changes, until they are applied, dismissed or no longer fit."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from infill_engine.edits.changes import words_changed
from infill_engine.edits.types import Edit, EditedText, Proposal, Span
from lsp_server.suggestions.next_edits.bursts import Edited
from lsp_server.suggestions.next_edits.refusals import Key, Refusals, key_of

MOST_DISMISSED = 200  # dismissed proposals remembered per document
MOST_REPLACED = 40  # pairs of words replaced by the user


@dataclass(frozen=True, slots=True)
class ShownProposal:
    """A proposal and the id by which the client knows it."""

    id: str
    proposal: Proposal


@dataclass(slots=True)
class Shown:
    """The proposals for one document, best first, adjusted to its newest text."""

    proposals: list[ShownProposal] = field(default_factory=list)
    _dismissed: dict[Key, None] = field(default_factory=dict)  # in order, oldest first
    _replaced: dict[tuple[str, str], None] = field(default_factory=dict)  # in order, oldest first
    _count: int = 0

    def show(self, proposals: Iterable[Proposal], prefix: str) -> list[ShownProposal]:
        """Add new proposals. Proposals that are already shown keep their ids."""
        known = {shown.proposal.edits: shown for shown in self.proposals}
        fresh = []
        for proposal in proposals:
            shown = known.get(proposal.edits)
            if shown is None:
                self._count += 1
                shown = ShownProposal(f"{prefix}{self._count}", proposal)
            fresh.append(shown)
        self.proposals = fresh
        return fresh

    def allowed(self, proposals: Iterable[Proposal]) -> list[Proposal]:
        """Return the proposals that the user does not refuse now."""
        return self.refusals().allowed(proposals)

    def refusals(self) -> Refusals:
        """Return a copy of what the user refuses now."""
        numbered = {pair: number for number, pair in enumerate(self._replaced)}
        return Refusals(frozenset(self._dismissed), numbered)

    def edited(self, edit: Edited) -> bool:
        """Update the proposals after a change: each is moved, loses an edit that was made, or is withdrawn.

        Returns whether a proposal was accepted: whether the change is one of its edits, whoever made it.
        """
        kept, accepted = [], False
        for shown in self.proposals:
            proposal = carried(shown.proposal, edit)
            accepted |= proposal is not None and len(proposal.edits) < len(shown.proposal.edits)
            if proposal is not None and proposal.edits:
                kept.append(replace(shown, proposal=proposal))
        self.proposals = kept
        return accepted

    def record_replaced(self, texts: Sequence[EditedText]) -> None:
        """Record what the user replaced in the newest edits, newest first, so that no proposal restores it."""
        for edited in reversed(texts):  # the newest last: it wins where two contradict each other
            for start, end, new in words_changed(edited.before, edited.changes, edited.language):
                old = edited.before[start:end]
                if old.strip() and new.strip() and old != new:
                    self._replaced.pop((old, new), None)
                    self._replaced[old, new] = None
        for pair in list(self._replaced)[:-MOST_REPLACED]:
            del self._replaced[pair]

    def dismiss(self, ids: Sequence[str] | None) -> None:
        """Withdraw these proposals, or all, and never show equal ones again."""
        dismissed = [shown for shown in self.proposals if ids is None or shown.id in ids]
        for shown in dismissed:
            self._dismissed[key_of(shown.proposal)] = None
        for key in list(self._dismissed)[:-MOST_DISMISSED]:
            del self._dismissed[key]
        self.proposals = [shown for shown in self.proposals if shown not in dismissed]

    def clear(self) -> None:
        """Withdraw all proposals. They may be shown again."""
        self.proposals = []


def carried(proposal: Proposal, edit: Edited) -> Proposal | None:
    """Return a proposal adjusted to one more edit, without any part that the edit made; None if it no longer fits."""
    growth = len(edit.new) - (edit.end - edit.start)
    kept: list[Edit] = []
    for one in proposal.edits:
        span = one.span
        if span.end < edit.start:
            kept.append(one)
        elif span.start > edit.end:
            kept.append(replace(one, span=Span(span.start + growth, span.end + growth, span.text)))
        elif not _makes(edit, one):
            return None
    return replace(proposal, edits=tuple(kept), label=relabelled(proposal, len(kept)))


def _makes(edit: Edited, proposed: Edit) -> bool:
    """Return whether a trimmed edit makes the proposed one."""
    span = proposed.span
    if edit.start < span.start or edit.end > span.end:
        return False
    made = span.text[: edit.start - span.start] + edit.new + span.text[edit.end - span.start :]
    return made == proposed.new


def relabelled(proposal: Proposal, left: int) -> str:
    """Return the label with the number of remaining edits."""
    count = len(proposal.edits)
    if left == count or not left:
        return proposal.label
    label = proposal.label.replace(f" {count} ", f" {left} ", 1)
    return re.sub(r"\b(use|line|place|call)s\b", r"\1", label) if left == 1 else label
