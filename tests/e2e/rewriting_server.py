"""infill-ls with an engine that proposes these next edits, and says nothing at the cursor.

the last edit writes   the text near it   becomes     found
check(                 OLD                NEW         at once
check_slowly(          OLD                NEW         after SECONDS
ordered(               FIRST              IMPORTED    at once
nameless(              NAMED              nothing     at once
wrong(                 OLD                NEW         at once, if the client has told it NO_NAME

OLD has two lines and NEW four. PROGRAM is a file in which a test makes one of these edits.
"""

import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

from toy_server import serve  # noqa: E402

from infill_engine.budget.deadline import Deadline  # noqa: E402
from infill_engine.edits.by_model.proposals import proposals_of  # noqa: E402
from infill_engine.edits.by_model.regions import regions  # noqa: E402
from infill_engine.edits.types import NextEditRequest, NextEdits, ScoredChange  # noqa: E402
from infill_engine.types import Answer, InfillRequest, Reason  # noqa: E402
from tests.toy_engine import ToyEngine  # noqa: E402

SECONDS = 0.6
OLD = "    name = str(path)\n    return os.lstat(name).st_mode\n"
NEW = "    try:\n        return check(path).st_mode\n    except OSError:\n        return 0\n"
NAMED = "    log(path)\n"  # nothing that stays needs it
FIRST = "import os\n"
IMPORTED = "import collections\nimport os\n"
PROGRAM = f"""{FIRST}

def first(path):
    return os.stat(path).st_size


def second(path):
{NAMED}{OLD}

LIMIT = 10
"""
EDITED = "os.stat(path).st_size"  # in PROGRAM; becomes one of these
CHECK, CHECK_SLOWLY = "check(path) or 0", "check_slowly(path) or 0"
ORDERED, NAMELESS = "ordered(path) or 0", "nameless(path) or 0"
WRONG, NO_NAME = "wrong(path) or 0", "there is no such name"  # an error of another server
RULES = {
    CHECK: (OLD, NEW),
    CHECK_SLOWLY: (OLD, NEW),
    ORDERED: (FIRST, IMPORTED),
    NAMELESS: (NAMED, ""),
    WRONG: (OLD, NEW),
}


class Rewriting(ToyEngine):
    name = "rewriting"

    def answer(self, request: InfillRequest, deadline: Deadline, watch: object = None) -> Answer:
        return Answer(reason=Reason.BLANK)

    def next_edits(self, request: NextEditRequest, deadline: Deadline) -> NextEdits:
        written = request.history[-1].new
        for region in regions(request):
            text = "".join(f"{line}\n" for line in region.lines)
            for edit, (old, new) in RULES.items():
                told = any(error.message == NO_NAME for error in region.diagnostics)
                if edit in written and old in text and (told or edit != WRONG):
                    time.sleep(SECONDS if edit == CHECK_SLOWLY else 0)
                    change = replacing(old, new, text[: text.index(old)].count("\n"))
                    if found := proposals_of(request, region, [(change, 0.72)], 0.3):
                        return NextEdits(found)
        return NextEdits(reason=Reason.BLANK)


def replacing(old: str, new: str, row: int) -> ScoredChange:
    return ScoredChange(0.0, 0.0, 0.0, 1, 0.0, 0.0, row, tuple(old.splitlines()), tuple(new.splitlines()))


if __name__ == "__main__":
    serve(__file__, Rewriting)
