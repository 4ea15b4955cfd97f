"""What the user does not want to see proposed: what they have dismissed, and what would restore what they replaced."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from infill_engine.edits.types import Proposal

Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Refusals:
    """A copy for one search, which threads may share.

    `dismissed` has the keys of proposals. `replaced` has pairs of words, old and new, each with its number in the order
    in which the user replaced them.
    """

    dismissed: frozenset[Key] = frozenset()
    replaced: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def allowed(self, proposals: Iterable[Proposal]) -> list[Proposal]:
        """Return the proposals that the user has not dismissed and that do not restore something the user replaced."""
        return [
            proposal
            for proposal in proposals
            if key_of(proposal) not in self.dismissed and not self._puts_back(proposal)
        ]

    def _puts_back(self, proposal: Proposal) -> bool:
        """Return whether a proposal leads back to what the user replaced and has not brought back since.

        If the user replaced in both directions, the shape of a line suggests neither.
        """
        opposites = [(self.replaced.get((edit.new, edit.span.text), -1), edit) for edit in proposal.edits]
        if proposal.kind.follows_example:
            return all(number >= 0 for number, _ in opposites)
        return all(number > self.replaced.get((edit.span.text, edit.new), -1) for number, edit in opposites)


def key_of(proposal: Proposal) -> Key:
    """Identify a proposal as the user sees it: what is replaced by what, regardless of place."""
    return proposal.kind.value, frozenset((edit.span.text, edit.new) for edit in proposal.edits)
