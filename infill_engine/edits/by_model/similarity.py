"""How similar a line is to what was edited last, by tokens alone."""

import re
from collections import Counter
from collections.abc import Sequence

from infill_engine.edits.tokens import TOKEN
from infill_engine.edits.types import PastEdit
from infill_engine.text.sequences import dice

NEWEST = 3  # edits that lines are compared with
LEAST_CHARS = 4  # of a line that others can be similar to
# Nats by which a change becomes likelier; measured on calibration histories (docs/log/next-edits.md).
SIMILAR, NAMES_GONE, NAMES_NEW = 3.0, 2.0, 0.5
_NAME = re.compile(r"[^\W\d]\w+")


class Similarity:
    """Compares lines with the newest edits of a history."""

    def __init__(self, history: Sequence[PastEdit]) -> None:
        newest = history[-NEWEST:]
        # A change begins like an edit began, so only the first line of an edit counts.
        starts = (next(filter(_says_something, edit.old.splitlines()), None) for edit in newest)
        self._old = [Counter(TOKEN.findall(line)) for line in starts if line is not None]
        self._removed_names, self._added_names = set[str](), set[str]()
        for edit in newest:
            before, after = set(_NAME.findall(edit.old)), set(_NAME.findall(edit.new))
            self._removed_names |= before - after
            self._added_names |= after - before

    def of(self, line: str) -> float:
        """Return how much likelier than usual the line is changed next, in nats."""
        tokens, names = Counter(TOKEN.findall(line)), set(_NAME.findall(line))
        similar = max((dice(tokens, one) for one in self._old), default=0.0)
        gone, new = bool(self._removed_names & names), bool(self._added_names & names)
        return SIMILAR * similar + NAMES_GONE * gone + NAMES_NEW * new


def _says_something(line: str) -> bool:
    return len(line.strip()) >= LEAST_CHARS
