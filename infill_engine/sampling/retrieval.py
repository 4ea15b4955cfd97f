"""Proposes the retrieved texts alone, where no model can serve. Does not import torch."""

from infill_engine.budget.work import Costs, Job
from infill_engine.sampling.proposals import Proposals, unscored_drafts
from infill_engine.sampling.proposer import Capabilities, Proposer
from infill_engine.types import Draft, Hole, InfillRequest


class Retrieval(Proposer):
    """Proposes without a model. `why` says why none serves."""

    def __init__(self, why: str) -> None:
        self.costs = Costs()
        self._why = why

    @property
    def can(self) -> Capabilities:
        """See `Proposer`."""
        return Capabilities("cpu", f"retrieved texts only: {self._why}")

    def propose(self, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...]) -> Job[Proposals]:  # noqa: ARG002
        """Return the retrieved texts."""
        yield from ()
        return Proposals(unscored_drafts(drafts) or [])
