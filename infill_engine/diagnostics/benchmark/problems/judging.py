"""Whether a candidate is right: it is the original text, one of the texts that are right too, or it passes the tests.

Truncation rule: a candidate is judged as it would be inserted, after the product's own cleaning.
"""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from infill_engine.diagnostics.benchmark.problems.execution import passes
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.models.runtime.devices import physical_cores

_BLANK_ENDS = re.compile(r"[^\S\n]+(?=\n|\Z)")
_JSON = """\
import json
def refuse(constant):
    raise ValueError(constant)
value = json.loads({document!r}, parse_constant=refuse)
"""
_SQL = """\
import sqlite3
def rows(query):
    database = sqlite3.connect(":memory:")
    database.executescript({schema!r})
    return database.execute(query).fetchall()
assert rows({query!r}) == rows({original!r})
"""


WALL_SECONDS = 3.0  # for a test; right programs take a fraction of it
REACHED_THE_END = 47  # a status that a program does not have if a candidate ends it early


class Judge:
    """Decides about texts and remembers what it has decided: running a program takes longer than writing it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], bool] = {}

    def which_are_right(self, problem: Problem, texts: Sequence[str]) -> list[bool]:
        """Return for each text whether it is right. New ones are run at once, on all cores: not while timing."""
        new = [text for text in dict.fromkeys(texts) if (problem.id, text) not in self._known]
        with ThreadPoolExecutor(physical_cores()) as pool:
            for text, right in zip(new, pool.map(partial(is_right, problem), new), strict=True):
                self._known[problem.id, text] = right
        return [self._known[problem.id, text] for text in texts]


def is_right(problem: Problem, text: str) -> bool:
    """Return whether a text for the hole is right."""
    if any(is_exact(text, right) for right in (problem.truth, *problem.also)):
        return True
    program = program_of(problem, text)
    return (
        bool(text.strip())
        and program is not None
        and passes(program, status=REACHED_THE_END, wall_seconds=WALL_SECONDS)
    )


def program_of(problem: Problem, text: str) -> str | None:
    """Return the program that exits with REACHED_THE_END if the text is right; None if nothing can be run."""
    completed, tests = problem.completed(text), problem.tests
    if problem.schema:
        completed = _SQL.format(schema=problem.schema, query=completed, original=problem.completed(problem.truth))
    elif not tests.strip():
        return None
    elif problem.language == "json":
        completed = _JSON.format(document=completed)
    return f"{completed}\n\n{tests}\nraise SystemExit({REACHED_THE_END})\n"


def trimmed(text: str) -> str:
    """Return `text` as it is compared: without blanks at the ends of lines and blank lines at the end."""
    return _BLANK_ENDS.sub("", text.replace("\r\n", "\n")).rstrip()


def is_exact(candidate: str, original: str) -> bool:
    """Return whether two texts are equal, ignoring trailing blanks."""
    return trimmed(candidate) == trimmed(original)
