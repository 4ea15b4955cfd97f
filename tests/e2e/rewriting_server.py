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
from infill_engine.types import Answer, Candidate, InfillRequest, Reason  # noqa: E402
from tests.toy_engine import ToyEngine  # noqa: E402

SECONDS = 1.0
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
        if request.history:
            written = request.history[-1].new
            text = request.middle(request.replaced)
            for edit, (old, new) in RULES.items():
                told = any(error.message == NO_NAME for error in request.diagnostics)
                if edit in written and old in text and (told or edit != WRONG):
                    time.sleep(SECONDS if edit == CHECK_SLOWLY else 0)
                    return Answer((Candidate(text.replace(old, new), 0.72),))
        return Answer(reason=Reason.BLANK)


if __name__ == "__main__":
    serve(__file__, Rewriting)
