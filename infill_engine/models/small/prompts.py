"""Prompts: the prefix stream re-reads the cursor's line and now also attends to the text right of the hole.

    … lines above, as they were encoded ──▶ the cursor's line, read again ──▶ drafts, and how likely texts are
                                            └ sees ─ <mask> text right of the hole

See `network`. Prompts are cached, so a typed character adds one token to one.
"""

from typing import Generic

import numpy as np
from cachetools import LRUCache

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.models.base import Ints
from infill_engine.models.kv_cache.prefix_cache import shared_length
from infill_engine.models.small.backends.interface import Backend, joined
from infill_engine.models.small.encoded import Array, KeysValues, Prompt, Sides, first, last
from infill_engine.models.small.network.dual_encoder import MASK, PREFIX, PROMPT_LINE

MOST_OF_LINE = 32  # tokens before the cursor that a prompt re-reads
MOST_ABOVE = 192  # visible tokens above that line; reading the keys of all rows costs as much as reading the weights
LINE_BLOCK = 16  # the line is cut in blocks of this size, so that typing seldom moves the cut
CACHED_PROMPTS = 2


class PromptReader(Generic[Array]):
    """Reads only the new part of each prompt. `breaks` are the tokens that contain a line break."""

    def __init__(self, backend: Backend[Array], breaks: Ints) -> None:
        self._backend = backend
        self._breaks = breaks
        self._prompts: LRUCache[tuple[int, tuple[int, ...]], Prompt[Array]] = LRUCache(CACHED_PROMPTS)
        self._asides: LRUCache[tuple[int, ...], list[KeysValues[Array]]] = LRUCache(CACHED_PROMPTS)

    def read(self, sides: Sides[Array]) -> Job[Prompt[Array]]:
        """Return the prompt of a hole."""
        line = self._start_of_line(sides.before)
        known = self._prompts.get((line, sides.after))
        shared = shared_length(known.ids, sides.before) if known else 0
        if known is None or shared <= line:
            new = len(sides.before) - line
            if sides.after not in self._asides:
                new += 1 + len(sides.after)
            yield Work(Phase.READ, new)
            prompt = self.begin(sides, line)
        else:
            prompt = known.cut(shared)
            if shared < len(sides.before):
                yield Work(Phase.READ, len(sides.before) - shared)
                prompt = self._extended(prompt, sides.before)
        self._prompts[line, sides.after] = prompt
        return prompt

    def begin(self, sides: Sides[Array], line: int) -> Prompt[Array]:
        """Re-read the prefix stream from token `line` on, with the text right of the hole as aside."""
        above = (last(first(keys_values, line), MOST_ABOVE) for keys_values in sides.stream.encoder)
        aside = self._aside(sides.after, line + PROMPT_LINE)
        past = [joined(self._backend, old, shown) for old, shown in zip(above, aside, strict=True)]
        states, encoder = self._backend.read(sides.before, line, PREFIX, past)
        return Prompt(tuple(encoder), states, sides.before)

    def _extended(self, prompt: Prompt[Array], ids: Ints) -> Prompt[Array]:
        """Extend a prompt to all of `ids` [T]; it was read with the first of them."""
        states, encoder = self._backend.read(ids, len(prompt.ids), PREFIX, prompt.encoder)
        return Prompt(tuple(encoder), self._backend.concatenate([prompt.states, states], 1), ids)

    def _aside(self, after: tuple[int, ...], offset: int) -> list[KeysValues[Array]]:
        """Return the keys and values of a prompt's aside, placed from position `offset` on.

        The aside attends only to itself, so it is read once; for another position only its keys are rotated.
        """
        known = self._asides.get(after)
        if known is None:
            _, known = self._backend.read(np.array([MASK, *after]), 0, PREFIX)
            self._asides[after] = known
        return [(self._backend.move(keys, offset), values) for keys, values in known]

    def _start_of_line(self, before: Ints) -> int:
        """Return the index of the token from which the cursor's line is re-read."""
        breaks = np.flatnonzero(np.isin(before, self._breaks))
        line = int(breaks[-1]) if len(breaks) else 0
        excess = max(0, len(before) - line - MOST_OF_LINE)
        return line + -(-excess // LINE_BLOCK) * LINE_BLOCK
