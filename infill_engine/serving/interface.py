"""What the worker needs of an engine, and how it describes an engine's faults to the user."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import Observer
from infill_engine.errors import InfillError
from infill_engine.serving.protocol import State, Status
from infill_engine.settings import WindowSettings
from infill_engine.stderr import say
from infill_engine.types import Answer, Eagerness, InfillRequest, Level, ProjectText


class EngineLike(Protocol):
    """The part of the engine that the worker needs."""

    name: str

    @property
    def device(self) -> str: ...

    @property
    def window(self) -> WindowSettings: ...

    @property
    def profile(self) -> str: ...

    @property
    def levels(self) -> Mapping[Eagerness, Level]: ...

    def answer(self, request: InfillRequest, deadline: Deadline, observer: Observer | None = None) -> Answer: ...

    def continue_search(self, request: InfillRequest, deadline: Deadline, *, awaited: bool) -> Iterator[Answer]: ...

    def prefetch(self, request: InfillRequest, deadline: Deadline) -> None: ...

    def index_project(self, project_text: ProjectText) -> Iterator[None]: ...

    def probe(self) -> Callable[[], None] | None:
        """Return a function that runs a small fixed pass and changes nothing; None if nothing is computed here."""
        ...


Load = Callable[[Callable[[str, float], None]], EngineLike]


def ready_status(engine: EngineLike) -> Status:
    """Return what the clients are told of a loaded engine."""
    levels = dict(engine.levels)
    return Status(State.READY, engine.profile, 1.0, engine.name, engine.device, engine.window, levels)


def describe(fault: Exception) -> str:
    """Put a fault into words for the user. Quote only our own errors: any other text may contain the user's code."""
    if isinstance(fault, InfillError):
        return str(fault)
    frames = "".join(traceback.format_tb(fault.__traceback__)).rstrip()
    say(f"infill worker: {type(fault).__name__}\n{frames}")
    return f"The engine met an unexpected {type(fault).__name__}; the worker's log shows where."
