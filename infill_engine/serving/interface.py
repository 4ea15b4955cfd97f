"""How an engine is loaded, and how its state and its faults are described to the user."""

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING

from infill_engine.errors import InfillError
from infill_engine.serving.protocol import State, Status
from infill_engine.stderr import say

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine

Load = Callable[[Callable[[str, float], None]], "Engine"]


def ready_status(engine: "Engine") -> Status:
    """Return what the clients are told of a loaded engine."""
    about = (engine.name, engine.device, engine.window, dict(engine.levels), engine.settings.budget_ms)
    return Status(State.READY, engine.profile, 1.0, *about)


def describe(fault: Exception) -> str:
    """Put a fault into words for the user. Quote only our own errors: any other text may contain the user's code."""
    if isinstance(fault, InfillError):
        return str(fault)
    frames = "".join(traceback.format_tb(fault.__traceback__)).rstrip()
    say(f"infill worker: {type(fault).__name__}\n{frames}")
    return f"The engine met an unexpected {type(fault).__name__}; the worker's log shows where."
