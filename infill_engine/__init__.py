"""Code completion: reads both sides of a cursor and answers with several candidates before a deadline.

    from infill_engine import Deadline, InfillRequest, load_engine

    engine = load_engine("default")
    engine.infill(InfillRequest("def area(r):\\n    return ", "\\n"), Deadline.after_ms(150))

The modules of the engine are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from infill_engine.budget.deadline import Deadline
from infill_engine.types import Answer, Candidate, Draft, Hole, HoleKind, InfillRequest, Reason, Source

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine
    from infill_engine.engine.engine_loading import load_engine

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
    "load_engine",
]


_IMPORTED_LATER = {"Engine": "infill_engine.engine.engine", "load_engine": "infill_engine.engine.engine_loading"}


def __getattr__(name: str) -> Any:
    if name in _IMPORTED_LATER:
        return getattr(import_module(_IMPORTED_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
