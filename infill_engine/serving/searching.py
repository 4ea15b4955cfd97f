"""The search that continues after an answer: whether it does, for how long, and which client is told what it finds."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from infill_engine.budget.deadline import Clock, Deadline
from infill_engine.serving.duty_cycle import DutyCycle, on_battery
from infill_engine.serving.protocol import Infill, Late
from infill_engine.serving.queues import ContinueSearch
from infill_engine.types import Answer

if TYPE_CHECKING:
    from infill_engine.engine.engine import Engine

SEARCH_SECONDS = 1.0  # time limit for going on with one search
LATE_SECONDS = 1.5  # after an answer, in which more may still be shown


def search_after(infill: Infill, answer: Answer, time: float) -> ContinueSearch | None:
    """Return the search that continues after an answer; None if there is nothing to continue.

    One without candidates continues only if the user would still see what it finds.
    """
    if not infill.late and (answer.incomplete_context or not answer.candidates):
        return None
    return ContinueSearch(infill, time + LATE_SECONDS, urgent=infill.late and not shows(answer))


def shows(answer: Answer) -> bool:
    """Return whether an answer has something that is shown unasked."""
    return any(candidate.confidence >= answer.show_from for candidate in answer.candidates)


def continue_search(
    engine: "Engine",
    search: ContinueSearch,
    duty_cycle: DutyCycle,
    clock: Clock,
    withdrawn: Callable[[], bool],
) -> Iterator[Late]:
    """Continue a search until it ends, its time is up, or it is withdrawn. Yield what its client is to be told.

    Its time is what the duty cycle allows or, if the answer showed nothing, what is left to show something.
    """
    left = search.wanted_until - clock()
    awaited = search.infill.late and left > 0 and not on_battery()
    seconds = left if awaited and search.urgent else min(SEARCH_SECONDS, duty_cycle.left_seconds())
    if seconds <= 0:
        return
    with duty_cycle.spending():
        deadline = Deadline(clock() + seconds, clock, withdrawn)
        for answer in engine.continue_search(search.infill.request, deadline, awaited=awaited):
            if awaited and not withdrawn() and clock() <= search.wanted_until:
                yield Late(search.infill.id, answer)
