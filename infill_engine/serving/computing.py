"""One request, computed by the engine."""

from typing import TYPE_CHECKING

from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import Observer
from infill_engine.serving.protocol import (
    Alive,
    Alternatives,
    Answered,
    AnswerMessage,
    Failure,
    Infill,
    NextEdit,
    Proposed,
    Request,
)
from infill_engine.types import Reason

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine


def compute(engine: "Engine", request: Request, deadline: Deadline, observer: Observer) -> AnswerMessage:
    """Return the reply to a request. An observer sees the steps of an infill."""
    match request:
        case Infill():
            return Answered(request.id, engine.answer(request.request, deadline, observer))
        case Alternatives():
            return Answered(request.id, engine.alternatives(request.request, deadline))
        case NextEdit():
            return Proposed(request.id, engine.next_edits(request.request, deadline))


def was_stopped(outcome: AnswerMessage | Failure | Alive) -> bool:
    """Return whether a request ended because it was cancelled."""
    return isinstance(outcome, AnswerMessage) and outcome.answer.reason is Reason.CANCELLED
