"""A cache of encoded lines, for the counts of a document that is counted again after every edit."""

from collections.abc import Sequence

import numpy as np
from cachetools import LRUCache

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.models.tokenizer import Ints, TokenizerVocabulary
from infill_engine.text.lines import with_breaks_first

CACHED_LINES = 4096  # with their tokens


class CachedLines:
    """Encodes texts line by line and caches the lines."""

    def __init__(self, vocabulary: TokenizerVocabulary) -> None:
        self._vocabulary = vocabulary
        self._lines: LRUCache[str, Ints] = LRUCache(CACHED_LINES)

    def encode(self, texts: Sequence[str]) -> Job[list[Ints]]:
        """Return the tokens [T] of each text."""
        split = [with_breaks_first(text.replace("\r\n", "\n")) for text in texts]
        wanted = dict.fromkeys(line for lines in split for line in lines)
        known = {line: self._lines[line] for line in wanted if line in self._lines}
        new = [line for line in wanted if line not in known]
        if new:
            yield Work(Phase.COUNT, len(new))
        for line in new:
            known[line] = self._lines[line] = np.array(self._vocabulary.encode(line), dtype=np.int64)
        return [np.concatenate([known[line] for line in lines]) for lines in split]
