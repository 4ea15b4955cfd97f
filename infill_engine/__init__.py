"""Text-diffusion infilling: reads both sides of a cursor and answers with several candidates before a deadline.

    from infill_engine import Deadline, Engine, InfillRequest

    engine = Engine.load("default")
    engine.infill(InfillRequest("def area(r):\\n    return ", "\\n"), Deadline.after_ms(150))

Importing this package imports no torch; loading an engine does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from infill_engine.budget.deadline import Deadline
from infill_engine.types import Answer, Candidate, Draft, Hole, HoleKind, InfillRequest, Reason, Source

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine

__all__ = [
    "Answer",
    "Candidate",
    "Deadline",
    "Draft",
    "Engine",
    "Hole",
    "HoleKind",
    "InfillRequest",
    "Reason",
    "Source",
]


def __getattr__(name: str) -> Any:
    if name == "Engine":
        return import_module("infill_engine.engine.engine").Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
