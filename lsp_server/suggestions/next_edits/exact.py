"""What follows exactly, by syntax and names, from the user's newest edits.

This runs in the thread of the search. It reads only values that nobody changes, and changes nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from infill_engine.edits.types import Consequences, EditedText, MayAsk, NoEditReason
from lsp_server.suggestions.next_edits.refusals import Refusals

Find = Callable[[EditedText, Callable[[], bool]], Consequences]


def find(edited: EditedText, stop: Callable[[], bool]) -> Consequences:
    """Find the exact consequences of an edit. The engine modules are imported on first use."""
    from infill_engine.edits.find import find_consequences

    return find_consequences(edited, stop=stop)


def exact(
    texts: Sequence[EditedText], refusals: Refusals, find: Find = find, stop: Callable[[], bool] = lambda: False
) -> Consequences:
    """Return what follows from the newest edit, or from it and those before it as one.

    `texts` are as `Bursts.edited_texts` yields them. The newest edit says whether the model may be asked, unless the
    user has dismissed what was found. If it may not, the line may still be completed if the edits broke the syntax.
    """
    found = Consequences(reason=NoEditReason.NO_CONSEQUENCE, may_ask=MayAsk.NOBODY)
    asks_model = bool(texts)
    by_example: Consequences | None = None  # what follows from the fewest edits as an example
    for number, edited in enumerate(texts):
        found = find(edited, stop)
        if stop():
            break
        if number == 0:
            asks_model = found.may_ask is MayAsk.MODEL
        allowed = tuple(refusals.allowed(found.proposals))
        if found.proposals and not allowed:
            found, asks_model = Consequences(reason=NoEditReason.DISMISSED, may_ask=MayAsk.NOBODY), False
        elif allowed:
            found = replace(found, proposals=allowed)
            if allowed[0].kind.comes_first:
                return found
            by_example = by_example or found
    if by_example is not None:
        return by_example
    if asks_model:
        return replace(found, may_ask=MayAsk.MODEL)
    return found if found.may_ask is MayAsk.LINE else replace(found, may_ask=MayAsk.NOBODY)
