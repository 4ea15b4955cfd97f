"""Prompts that hold both sides of a hole, read from left to right.

In parts, so that the reading can stop in time, and only as far as they are new.
"""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from infill_engine.models.kv_cache.layers import LayerMemory
from infill_engine.models.kv_cache.prefix_cache import StreamCache, cut_in_blocks
from infill_engine.models.published.fim_tokens import PREFIX, SUFFIX, FimTokens
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings
from infill_engine.work import Job, OutOfTime, Phase, Work

Ints = NDArray[np.int64]
# The keys and values of every layer for tokens that are already read, and for new ones behind them.
Read = Callable[[list[LayerMemory], Ints], list[LayerMemory]]

KEPT_PROMPTS = 4  # of a family, usually
LONGEST_LINE = 128  # tokens of the cursor's line that the middle may begin with
PART = 128  # tokens read at once: between two parts a deadline or the next keystroke can end the reading


class PromptReader:
    """Reads prompts with `read` and keeps the keys and values of the last few.

    The tokens of a `block` see each other: one that agrees only in part is read again.
    """

    def __init__(self, read: Read, kept: int = KEPT_PROMPTS, block: int = 1) -> None:
        self._read = read
        self._block = block
        self._prompts = StreamCache[list[LayerMemory]](kept)

    def layers_of(self, ids: Ints) -> Job[tuple[list[LayerMemory], int]]:
        """The keys and values of `ids` in every layer, [1, H, T, hd] each, and how many tokens had to be read for it.

        What is read when time runs out is kept.
        """
        cached, agreed = self._prompts.nearest(ids)
        shared = agreed // self._block * self._block
        layers = [] if cached is None else [(keys[:, :, :shared], values[:, :, :shared]) for keys, values in cached]
        read = shared
        while read < len(ids):
            part = min(PART, len(ids) - read)
            try:
                yield Work(Phase.READ, part)
            except OutOfTime:
                if read > shared:
                    self._prompts.put(ids[:read], layers)
                raise
            layers = self._read(layers, ids[read : read + part])
            read += part
        self._prompts.put(ids, layers)
        return layers, len(ids) - shared


def prompt_of(
    fim: FimTokens, vocabulary: TokenizerVocabulary, settings: ModelSettings, prefix: str, suffix: str
) -> Ints:
    """The tokens of a whole prompt for the hole between two texts.

    Where the prefix stands before the suffix, the middle begins with the cursor's line, as it may in training, too.
    What is typed there comes last, and a suffix that was read need not be read again until the next line.
    """
    above, line = prefix.replace("\r\n", "\n"), ""
    if fim.prompt.index(PREFIX) < fim.prompt.index(SUFFIX):
        start = above.rfind("\n") + 1
        above, line = above[:start], above[start:]
    begun = vocabulary.encode(line)
    if len(begun) > LONGEST_LINE:
        above, begun = above + line, []
    before = cut_in_blocks(vocabulary.encode(above), settings.prefix_tokens)
    behind = vocabulary.encode(suffix.replace("\r\n", "\n"))[: settings.suffix_tokens]
    sides = {PREFIX: before, SUFFIX: behind}
    parts = [sides[part] if part in sides else vocabulary.need(part) for part in fim.whole]
    return np.concatenate([np.asarray(part, np.int64) for part in (*parts, begun)])


def other_ends(fim: FimTokens, vocabulary: TokenizerVocabulary) -> list[int]:
    """The tokens that end a text besides the vocabulary's own end."""
    ends = {vocabulary.id_of(name) for name in (*fim.tokens, *fim.ends)} - {None, vocabulary.end}
    return sorted(token for token in ends if token is not None)


def seen_left(past: int, new: int, window: int | None = None) -> torch.Tensor:
    """Which of `past + new` tokens each of the `new` ones sees, [1, 1, new, past + new].

    Itself and those before it, with a `window` only so many of them, itself included.
    """
    place, key = torch.arange(past, past + new)[:, None], torch.arange(past + new)
    seen = key <= place
    return (seen if window is None else seen & (key > place - window))[None, None]
