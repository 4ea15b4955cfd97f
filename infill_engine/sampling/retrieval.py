"""Proposes the retrieved texts alone, where no model can serve. Does not import torch."""

from collections.abc import Callable, Iterator

from infill_engine.budget.work import Costs, Job
from infill_engine.sampling.proposals import Proposals, unread
from infill_engine.sampling.proposer import Capabilities, Rehearsal
from infill_engine.types import Draft, Hole, InfillRequest, Surroundings


class Retrieval:
    """Implements `infill_engine.sampling.proposer.Proposer` without a model. `why` says why none serves."""

    def __init__(self, why: str) -> None:
        self.can = Capabilities("cpu", f"retrieved texts only: {why}")
        self.costs = Costs()

    def propose(self, request: InfillRequest, hole: Hole, drafts: tuple[Draft, ...]) -> Job[Proposals]:  # noqa: ARG002
        """Return the retrieved texts."""
        yield from ()
        return Proposals(unread(drafts) or [])

    def prefetch(self, request: InfillRequest) -> Job[None]:  # noqa: ARG002
        """Do nothing."""
        yield from ()

    def index(self, surroundings: Surroundings) -> Iterator[None]:  # noqa: ARG002
        """Do nothing."""
        return iter(())

    def probe(self) -> Callable[[], None] | None:
        """Return nothing: no pass runs."""
        return None

    def warm_up(self) -> Iterator[Rehearsal]:
        """Yield nothing."""
        return iter(())

    def use_less_memory(self) -> str:
        """Return nothing: there is no model."""
        return ""

    def least_ms(self) -> float:
        """Return nothing."""
        return 0.0

    def forget_predictions(self) -> None:
        """Do nothing."""
