"""Keys and values of one prompt, kept from one keystroke to the next.

A buffer has numbered slots, and what a slot holds decides which rows see it:

    [0, PREFIX)         the suffix marker and the suffix    seen by the suffix behind it, by the middle, and by texts
    [PREFIX, MIDDLE)    the prefix marker and the prefix    seen by the prefix behind it, and by everything else
    [MIDDLE, TEXTS)     the middle marker and the line      seen by the middle behind it, and by texts
    [TEXTS, SLOTS)      tokens of texts that are tried      seen by what continues them

Keys are stored rotated to their positions. The suffix has slots of its own so that the prefix can grow in place: when a
line is finished, the suffix's keys are rotated on by as many positions and can be used at once, although they have not
seen the new line. Such a cache is `stale` until the suffix has been read again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import torch
from torch import Tensor

from infill_engine.models.base import ContextUnread, GoOn
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.network import UNSEEN, KeysValues, Network, forward, normed, rotate, rotations
from infill_engine.models.trunk.prompt import LINE_TOKENS, PREFIX_TOKENS, SUFFIX_TOKENS, Prompt

PREFIX = SUFFIX_TOKENS + 1
MIDDLE = PREFIX + PREFIX_TOKENS + 1
TEXTS = MIDDLE + LINE_TOKENS + 1
SLOTS = TEXTS + 224
PART = 64  # rows that are read before asking whether to go on
NOTHING = Prompt((), (), ())


@dataclass(frozen=True, slots=True)
class Rows:
    """Tokens of one pass: ids, positions and slots [T] each, and which slots each row sees [T, SLOTS]."""

    ids: Sequence[int]
    positions: Sequence[int]
    slots: Sequence[int]
    seen: Tensor

    def __len__(self) -> int:
        return len(self.ids)


class PromptCache:
    """One buffer. `held` is the prompt that it holds, or as much of one as has been read."""

    def __init__(self, config: TrunkConfig, device: str = "cpu", dtype: torch.dtype = torch.float32) -> None:
        self.config = config
        self.held = NOTHING
        self.stale = False
        self._suffix_saw: tuple[int, ...] = ()  # the prefix that stood before the suffix when it was read
        self._suffix_at = 0  # position of the suffix marker that its keys are rotated to
        shape = (2, config.kv_heads, SLOTS, config.head_dim)
        self._layers = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)]

    def shared(self, prompt: Prompt) -> int:
        """How many tokens of `prompt` need not be read again."""
        prefix = _agreeing(self.held.prefix, prompt.prefix)
        if prefix < len(prompt.prefix) or self._suffix_saw != prompt.prefix:
            return prefix
        suffix = _agreeing(self.held.suffix, prompt.suffix)
        if suffix < len(prompt.suffix):
            return prefix + suffix
        return prefix + suffix + _agreeing(self.held.middle, prompt.middle)

    def read(self, network: Network, prompt: Prompt, go_on: GoOn, *, hurried: bool = False) -> Rows:
        """Reads `prompt` but for its last rows, at most PART, which are returned for the pass that comes next.

        Once they have been run, `hold` is to be told. Asks `go_on` before each part, and raises ContextUnread where it
        says no; what was read is kept. Where `hurried`, a suffix that has not seen the newest lines is used as it is.
        """
        self._forget_from(prompt, keep_stale=hurried)
        waiting = self._missing(prompt)
        while len(waiting) > PART:
            part, waiting = waiting[:PART], waiting[PART:]
            if not go_on(len(part)):
                raise ContextUnread
            self.run(network, self._rows(prompt, part))
            self.hold(prompt, part)
        return self._rows(prompt, waiting)

    def run(self, network: Network, rows: Rows) -> Tensor:
        """States [T, D] of rows, normed; their keys and values are kept in their slots."""
        device = self._layers[0].device
        slots = torch.tensor(rows.slots, device=device)
        used = max(rows.slots) + 1 if rows.slots else 0
        used = max(used, TEXTS)
        mask = torch.zeros(len(rows), used, device=device).masked_fill_(~rows.seen[:, :used].to(device), UNSEEN)

        def remember(layer: int, keys: Tensor, values: Tensor) -> KeysValues:
            kept = self._layers[layer]
            kept[0].index_copy_(1, slots, keys)
            kept[1].index_copy_(1, slots, values)
            return kept[0, :, :used], kept[1, :, :used]

        x = network.embed(torch.tensor(rows.ids, device=device))
        states = forward(network, x, torch.tensor(rows.positions, device=device), mask, remember)
        return normed(network, states)

    def _forget_from(self, prompt: Prompt, *, keep_stale: bool) -> None:
        """Drops what is no part of `prompt`, and what has seen something else before it."""
        held = self.held
        prefix = prompt.prefix[: _agreeing(held.prefix, prompt.prefix)]
        fresh = self._suffix_saw == prompt.prefix
        suffix = prompt.suffix[: _agreeing(held.suffix, prompt.suffix)]
        if not fresh and not (keep_stale and suffix == prompt.suffix and len(prefix) > len(prompt.prefix) // 2):
            suffix = ()
        whole = prefix == prompt.prefix == held.prefix and suffix == prompt.suffix == held.suffix
        middle = held.middle[: _agreeing(held.middle, prompt.middle)] if whole else ()
        self.stale = bool(suffix) and not fresh
        if suffix and self._suffix_at != len(prompt.prefix):
            self._move_suffix(len(prompt.prefix), len(suffix))
        if middle == prompt.middle:
            middle = middle[:-1]  # its last row is read again: what follows it is asked for
        self.held = Prompt(prefix, suffix, middle)

    def _missing(self, prompt: Prompt) -> list[int]:
        """The slots of the tokens that have to be read, in order."""
        return [
            *range(PREFIX + len(self.held.prefix), PREFIX + len(prompt.prefix)),
            *range(len(self.held.suffix), len(prompt.suffix)),
            *range(MIDDLE + len(self.held.middle), MIDDLE + len(prompt.middle)),
        ]

    def hold(self, prompt: Prompt, slots: Sequence[int]) -> None:
        """Notes that the tokens of `prompt` in these slots are read."""
        for slot in slots:
            if slot >= MIDDLE:
                self.held = replace(self.held, middle=prompt.middle[: slot - MIDDLE + 1])
            elif slot >= PREFIX:
                self.held = replace(self.held, prefix=prompt.prefix[: slot - PREFIX + 1])
            else:
                self.held = replace(self.held, suffix=prompt.suffix[: slot + 1])
                self._suffix_saw, self._suffix_at, self.stale = prompt.prefix, len(prompt.prefix), False

    def _rows(self, prompt: Prompt, slots: Sequence[int]) -> Rows:
        before_middle = len(prompt.prefix) + len(prompt.suffix)
        ids, positions = [], []
        for slot in slots:
            if slot >= MIDDLE:
                ids.append(prompt.middle[slot - MIDDLE])
                positions.append(before_middle + slot - MIDDLE)
            elif slot >= PREFIX:
                ids.append(prompt.prefix[slot - PREFIX])
                positions.append(slot - PREFIX)
            else:
                ids.append(prompt.suffix[slot])
                positions.append(len(prompt.prefix) + slot)
        return Rows(ids, positions, slots, _seen_by_prompt(prompt, torch.tensor(slots, dtype=torch.long)))

    def _move_suffix(self, position: int, length: int) -> None:
        """Rotates the suffix's keys on to another position of its marker: rotations add up."""
        moved = torch.tensor([position - self._suffix_at], device=self._layers[0].device)
        cos, sin = rotations(self.config, moved)
        for kept in self._layers:
            kept[0, :, :length] = rotate(kept[0, :, :length], cos.to(kept.dtype), sin.to(kept.dtype))
        self._suffix_at = position


def text_rows(prompt: Prompt, tokens: Sequence[int], depths: Sequence[int], slots: Sequence[int], seen: Tensor) -> Rows:
    """Rows of texts behind a prompt. `depths` count from 0 at the first token, `seen` [T, SLOTS] are slots of texts."""
    behind = len(prompt.tokens)
    every = torch.arange(SLOTS)
    of_prompt = (
        (every < len(prompt.suffix))
        | ((every >= PREFIX) & (every < PREFIX + len(prompt.prefix)))
        | ((every >= MIDDLE) & (every < MIDDLE + len(prompt.middle)))
    )
    return Rows(tokens, [behind + depth for depth in depths], slots, seen | of_prompt)


def joined(parts: Iterator[Rows] | Sequence[Rows]) -> Rows:
    """Rows of one pass for those of several."""
    ids: list[int] = []
    positions: list[int] = []
    slots: list[int] = []
    seen = []
    for part in parts:
        ids += part.ids
        positions += part.positions
        slots += part.slots
        seen.append(part.seen)
    return Rows(ids, positions, slots, torch.cat(seen))


def _seen_by_prompt(prompt: Prompt, slots: Tensor) -> Tensor:
    """Which slots [T, SLOTS] the rows of a prompt in `slots` [T] see."""
    every, own = torch.arange(SLOTS), slots[:, None]
    prefix = (every >= PREFIX) & (every < PREFIX + len(prompt.prefix))
    suffix = every < len(prompt.suffix)
    of_prefix = (own >= PREFIX) & (own < MIDDLE) & (every >= PREFIX) & (every <= own)
    of_suffix = (own < PREFIX) & (prefix | (every <= own))
    of_middle = (own >= MIDDLE) & (prefix | suffix | ((every >= MIDDLE) & (every <= own)))
    return of_prefix | of_suffix | of_middle


def _agreeing(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
