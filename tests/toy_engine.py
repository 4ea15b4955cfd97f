"""The engine of workers in tests: it answers with the text left of the cursor. Tests override what they need."""

from collections.abc import Iterator, Mapping

from infill_engine.budget.deadline import Deadline
from infill_engine.edits.types import NextEditRequest, NextEdits
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import (
    AlternativesRequest,
    Answer,
    Candidate,
    Eagerness,
    InfillRequest,
    Level,
    ProjectText,
    Reason,
    Surroundings,
)


class ToyEngine:
    """All that a worker needs of an engine (`infill_engine.engine.engine.Engine`)."""

    name, device, profile = "toy", "cpu", ""
    window: WindowSettings = USUAL_WINDOW
    least_ms = 5.0
    levels: Mapping[Eagerness, Level] = {Eagerness.EAGER: Level(0.25, 0.6, 0.4)}

    def answer(self, request: InfillRequest, deadline: Deadline, observer: object = None) -> Answer:
        return Answer((Candidate(request.prefix, 0.5),))

    def alternatives(self, request: AlternativesRequest, deadline: Deadline) -> Answer:
        return Answer((Candidate(request.prefix, 0.5),))

    def next_edits(self, request: NextEditRequest, deadline: Deadline) -> NextEdits:
        return NextEdits(reason=Reason.BLANK)

    def prefetch(self, around: Surroundings, deadline: Deadline) -> None:
        pass

    def continue_search(self, request: InfillRequest, deadline: Deadline, *, awaited: bool = False) -> Iterator[Answer]:
        return iter(())

    def index_project(self, project_text: ProjectText) -> Iterator[None]:
        return iter(())
