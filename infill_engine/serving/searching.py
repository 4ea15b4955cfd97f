"""The search that goes on after an answer: whether it does, for how long, and who hears what it finds."""

from collections.abc import Callable

from infill_engine.budget.deadline import Clock, Deadline
from infill_engine.serving.duty_cycle import DutyCycle, on_battery
from infill_engine.serving.interface import EngineLike
from infill_engine.serving.protocol import Infill, Late
from infill_engine.serving.queues import Deepen
from infill_engine.types import Answer

DEEPEN_SECONDS = 1.0  # time limit for going on with one search
LATE_SECONDS = 1.5  # after an answer, in which more may still be shown


def search_after(message: Infill, answer: Answer, time: float) -> Deepen | None:
    """Return the search that goes on after an answer; None if there is nothing to go on with.

    One without candidates goes on only if the user would still see what it finds.
    """
    if not message.late and (answer.unread or not answer.candidates):
        return None
    shown = any(candidate.confidence >= answer.show_from for candidate in answer.candidates)
    urgent = bool(message.late) and not shown
    return Deepen(message.document, message.request, message.late, time + LATE_SECONDS, urgent)


def go_on(
    engine: EngineLike,
    search: Deepen,
    duty_cycle: DutyCycle,
    clock: Clock,
    withdrawn: Callable[[], bool],
    send: Callable[[Late], None],
) -> None:
    """Go on with a search until it ends, its time is up, or it is withdrawn.

    Its time is what the duty cycle allows or, if the answer showed nothing, what is left to show something.
    """
    left = search.wanted_until - clock()
    awaited = bool(search.late) and left > 0 and not on_battery()
    seconds = left if awaited and search.urgent else min(DEEPEN_SECONDS, duty_cycle.left_seconds())
    if seconds <= 0:
        return
    with duty_cycle.spending():
        for answer in engine.deepen(search.request, Deadline(clock() + seconds, clock, withdrawn), awaited=awaited):
            if awaited and not withdrawn() and clock() <= search.wanted_until:
                send(Late(search.late, search.document, answer))
