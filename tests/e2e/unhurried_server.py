"""infill-ls with an engine that finds the rest of what it says half a second after its answer.

left of the cursor   the answer    found afterwards
late =               nothing       alpha(1)
longer =             alpha(        alpha(1)
other =              alpha(1)      beta(2)
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

from toy_server import serve  # noqa: E402

from infill_engine.budget.deadline import Deadline  # noqa: E402
from infill_engine.types import Answer, Candidate, InfillRequest, Reason  # noqa: E402
from tests.toy_engine import ToyEngine  # noqa: E402

SECONDS = 0.5
SAYS = {"late = ": ("", "alpha(1)"), "longer = ": ("alpha(", "alpha(1)"), "other = ": ("alpha(1)", "beta(2)")}


class Unhurried(ToyEngine):
    name = "unhurried"

    def answer(self, request: InfillRequest, deadline: Deadline, watch: object = None) -> Answer:
        first, _ = _said(request)
        return Answer((Candidate(first, 0.9),)) if first else Answer(reason=Reason.DEADLINE)

    def continue_search(self, request: InfillRequest, deadline: Deadline, *, awaited: bool = False) -> Iterator[Answer]:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and not deadline.cancelled():
            time.sleep(0.01)
        _, later = _said(request)
        if later and not deadline.cancelled():
            yield Answer((Candidate(later, 0.9),))


def _said(request: InfillRequest) -> tuple[str, str]:
    return next((said for before, said in SAYS.items() if request.prefix.endswith(before)), ("", ""))


if __name__ == "__main__":
    serve(__file__, Unhurried)
