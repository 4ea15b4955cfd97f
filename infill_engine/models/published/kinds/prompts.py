"""Left-to-right prompts that hold both sides of a hole.

Only the new part of a prompt is read, and in parts, so that reading can stop in time.
"""

from collections.abc import Callable, Sequence

import numpy as np

from infill_engine.budget.work import Job, OutOfTime, Phase, Work
from infill_engine.models.base import Ints
from infill_engine.models.published.fim_tokens import PREFIX, SUFFIX, FimTokens
from infill_engine.models.stock.decoder import LayerMemory
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings

# Takes the keys and values of every layer for tokens already read, and new tokens; returns those of all.
ReadPart = Callable[[list[LayerMemory], Ints], list[LayerMemory]]

KEPT_PROMPTS = 4
LONGEST_LINE = 128  # most tokens of the cursor's line at the start of the middle
CUT = 64  # tokens: the far end of a prompt is cut in multiples of this
PART = 128  # tokens read at once; a deadline or the next keystroke can interrupt between two parts


class PromptReader:
    """Reads prompts with `read` and keeps the keys and values of the last few.

    The tokens of a `block` see each other, so a block that agrees only in part is read again.
    """

    def __init__(self, read: ReadPart, block: int = 1) -> None:
        self._read = read
        self._block = block
        self._prompts: list[tuple[Ints, list[LayerMemory]]] = []  # newest last

    def layers_of(self, ids: Ints) -> Job[tuple[list[LayerMemory], int]]:
        """Return the keys and values of `ids` in every layer, [1, H, T, hd] each, and how many tokens had to be read.

        If time runs out, the part read so far is kept.
        """
        shared, layers = self._nearest(ids)
        read = shared
        while read < len(ids):
            part = min(PART, len(ids) - read)
            try:
                yield Work(Phase.READ, part)
            except OutOfTime:
                if read > shared:
                    self._keep(ids[:read], layers)
                raise
            layers = self._read(layers, ids[read : read + part])
            read += part
        self._keep(ids, layers)
        return layers, len(ids) - shared

    def _nearest(self, ids: Ints) -> tuple[int, list[LayerMemory]]:
        """Return how many leading tokens of `ids` have been read, in whole blocks, and their keys and values."""
        if not self._prompts:
            return 0, []
        known, layers = max(reversed(self._prompts), key=lambda prompt: _shared_length(prompt[0], ids))
        shared = _shared_length(known, ids) // self._block * self._block
        return shared, [(keys[:, :, :shared], values[:, :, :shared]) for keys, values in layers] if shared else []

    def _keep(self, ids: Ints, layers: list[LayerMemory]) -> None:
        """Keep a prompt, so that typing, a second cursor and another file each find their own.

        It replaces one that it only extends or shortens.
        """
        others = [
            prompt for prompt in self._prompts if _shared_length(prompt[0], ids) < 0.7 * min(len(prompt[0]), len(ids))
        ]
        self._prompts = [*others, (ids, layers)][-KEPT_PROMPTS:]


def prompt_of(
    fim: FimTokens, vocabulary: TokenizerVocabulary, settings: ModelSettings, prefix: str, suffix: str
) -> Ints:
    """Return the tokens of a whole prompt for the hole between two texts.

    If the prefix comes before the suffix, the middle begins with the cursor's line, as it may in training, too. The
    typed text then comes last, and the suffix need not be read again until the next line.
    """
    above, line = prefix.replace("\r\n", "\n"), ""
    if fim.prompt.index(PREFIX) < fim.prompt.index(SUFFIX):
        start = above.rfind("\n") + 1
        above, line = above[:start], above[start:]
    begun = vocabulary.encode(line)
    if len(begun) > LONGEST_LINE:
        above, begun = above + line, []
    before = _cut_in_blocks(vocabulary.encode(above), settings.prefix_tokens)
    behind = vocabulary.encode(suffix.replace("\r\n", "\n"))[: settings.suffix_tokens]
    sides = {PREFIX: before, SUFFIX: behind}
    parts = [sides[part] if part in sides else vocabulary.need(part) for part in fim.whole]
    return np.concatenate([np.asarray(part, np.int64) for part in (*parts, begun)])


def _cut_in_blocks(ids: Sequence[int], most: int) -> Ints:
    """The last tokens of `ids`, at most `most`. The far end is cut in whole blocks, so that the cut seldom moves."""
    excess = max(0, len(ids) - most)
    return np.array(ids[-(-excess // CUT) * CUT :], dtype=np.int64)


def other_ends(fim: FimTokens, vocabulary: TokenizerVocabulary) -> list[int]:
    """Return the tokens that end a text in addition to the vocabulary's own end."""
    ends = {vocabulary.id_of(name) for name in (*fim.tokens, *fim.ends)} - {None, vocabulary.end}
    return sorted(token for token in ends if token is not None)


def _shared_length(one: Ints, other: Ints) -> int:
    """Return how many leading tokens agree."""
    length = min(len(one), len(other))
    differing = np.flatnonzero(one[:length] != other[:length])
    return int(differing[0]) if len(differing) else length
