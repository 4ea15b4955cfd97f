"""Jobs run by a test instead of the engine's loop."""

from collections.abc import Iterator
from typing import Any, TypeVar

from infill_engine.budget.work import Budget, Event, Job, OutOfTime, PassState, Work

T = TypeVar("T")


def limited(job: Job[T], pieces: int, asked: list[int] | None = None) -> T:
    """The result of a job that has time for so many pieces. `asked` takes the sizes of all that it announces."""
    try:
        event = next(job)
        while True:
            if isinstance(event, Work):
                if asked is not None:
                    asked.append(event.size)
                pieces -= 1
                if pieces < 0:
                    event = job.throw(OutOfTime())
                    continue
            event = job.send(answer_to(event))
    except StopIteration as end:
        result: T = end.value
        return result


def states(job: Job[object]) -> Iterator[Any]:
    """What a job shows after each pass."""
    try:
        event = next(job)
        while True:
            if isinstance(event, PassState):
                yield event.state
            event = job.send(answer_to(event))
    except StopIteration:
        return


def answer_to(event: Event) -> Any:
    """What a job receives that has all the time it wants."""
    return None if isinstance(event, Work | PassState) else Budget.unlimited()._answer(event)
