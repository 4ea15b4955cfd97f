"""How much a line resembles what was edited last, from tokens alone."""

import re
from collections import Counter
from collections.abc import Sequence

from infill_engine.edits.templates import TOKEN
from infill_engine.types import PastEdit

NEWEST = 3  # edits that lines are compared with
LEAST_CHARS = 4  # of a line that others can resemble
# Nats by which a change becomes likelier; measured on calibration histories (docs/log/next-edits.md).
ALIKE, NAMES_GONE, NAMES_NEW = 3.0, 2.0, 0.5
_NAME = re.compile(r"[^\W\d]\w+")


class Resemblance:
    """Compares lines with the newest edits of a history."""

    def __init__(self, history: Sequence[PastEdit]) -> None:
        newest = history[-NEWEST:]
        lines = (line for edit in newest for line in edit.old.splitlines() if len(line.strip()) >= LEAST_CHARS)
        self._old = [Counter(TOKEN.findall(line)) for line in lines]
        self._removed_names, self._added_names = set[str](), set[str]()
        for edit in newest:
            before, after = set(_NAME.findall(edit.old)), set(_NAME.findall(edit.new))
            self._removed_names |= before - after
            self._added_names |= after - before

    def of(self, line: str) -> float:
        """Return how much likelier than usual the line is changed next, in nats."""
        tokens, names = Counter(TOKEN.findall(line)), set(_NAME.findall(line))
        alike = max((2 * (tokens & one).total() / (tokens.total() + one.total()) for one in self._old), default=0.0)
        return (
            ALIKE * alike + NAMES_GONE * bool(self._removed_names & names) + NAMES_NEW * bool(self._added_names & names)
        )
