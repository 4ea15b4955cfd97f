"""The interface of everything that proposes texts: models, and retrieval alone. Does not import torch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from infill_engine.budget.work import Costs, Job
from infill_engine.edits.types import Region, ScoredChange
from infill_engine.sampling.proposals import Proposals, unscored_drafts
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import ONE_HOLE, Draft, Hole, Holes, InfillRequest, ProjectText, Surroundings, TextRequest


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a proposer can do.

    `profile` says how it computes, such as `int8, 1 thread`, if that was chosen automatically. `window` is how much
    text around a hole it can use. If it `fills_several`, it fills several holes at once. If it `goes_on`, its search
    continues where an earlier one at the same place stopped. If it `rewrites`, it finds changes of regions.
    """

    device: str
    profile: str = ""
    window: WindowSettings = USUAL_WINDOW
    fills_several: bool = False
    goes_on: bool = False
    rewrites: bool = False


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of a region. If they are not `final`, there was no time to find all."""

    found: tuple[ScoredChange, ...] = ()
    final: bool = True


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A request that is answered while a model loads, and the time limit for it."""

    request: InfillRequest
    budget_ms: float


class Proposer(ABC):
    """Makes proposals, one request at a time. `costs` are the measured costs of its work.

    Only `can` and `propose` are required: by default, nothing is computed, kept or measured here.
    """

    costs: Costs

    @property
    @abstractmethod
    def can(self) -> Capabilities:
        """What it can do."""

    @abstractmethod
    def propose(
        self, request: TextRequest, hole: Hole, drafts: tuple[Draft, ...], holes: Holes = ONE_HOLE
    ) -> Job[Proposals]:
        """Return all texts that are found for a hole in time, among them the retrieved `drafts`.

        With several `holes`, `hole` is the first one, and each text reaches from there to the end of the last one.
        """

    def rewrite(self, region: Region) -> Job[Changes]:  # noqa: ARG002
        """Return the changes that are found for a region in time."""
        yield from ()
        return Changes()

    def prefetch(self, around: Surroundings) -> Job[None]:  # noqa: ARG002
        """Read what a later request at a place needs."""
        yield from ()

    def index(self, project_text: ProjectText) -> Iterator[None]:  # noqa: ARG002
        """Index the text around a document, for requests that name it; yields about every 2 ms."""
        return iter(())

    def warm_up(self) -> Iterator[Rehearsal]:
        """Measure what passes cost, and yield requests to be answered before the first one of a user."""
        return iter(())

    def use_less_memory(self) -> str:
        """Give up something after memory ran out. Return what that means for the user; "" if nothing is left."""
        return ""

    def least_ms(self) -> float:
        """Return the milliseconds of the smallest useful pass on an idle machine."""
        return 0.0

    def forget_predictions(self) -> None:  # noqa: B027
        """Forget what was predicted for earlier requests, for measurements."""


class Retrieval(Proposer):
    """Proposes without a model. `why` says why there is no model."""

    def __init__(self, why: str) -> None:
        self.costs = Costs()
        self._why = why

    @property
    def can(self) -> Capabilities:
        """See `Proposer`."""
        return Capabilities("cpu", f"retrieved texts only: {self._why}")

    def propose(
        self,
        request: TextRequest,  # noqa: ARG002
        hole: Hole,  # noqa: ARG002
        drafts: tuple[Draft, ...],
        holes: Holes = ONE_HOLE,  # noqa: ARG002
    ) -> Job[Proposals]:
        """Return the retrieved texts."""
        yield from ()
        return Proposals(unscored_drafts(drafts) or [])
