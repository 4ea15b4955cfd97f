"""Keys and values of one prompt, kept from one keystroke to the next.

Keys are stored rotated to their positions. When a line is finished, the suffix's keys are rotated by as many positions
as the prefix has grown and can be used at once, although they have not seen the new line. Such a suffix is outdated.
Its cache serves while the suffix is read again in another cache, which starts with a copy of the prefix. All parts have
seen the head of the prompt, so a cache with another head shares nothing.
"""

from collections.abc import Sequence
from dataclasses import replace

from infill_engine.budget.work import Job, Phase, Work
from infill_engine.models.trunk.backends.interface import Backend, PassResult
from infill_engine.models.trunk.continuations import LEAST_FREE, Continuations, Prediction
from infill_engine.models.trunk.denoiser import Denoised
from infill_engine.models.trunk.forms import form_for
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.models.trunk.slots import (
    MIDDLE,
    NO_BLOCKS,
    NO_ROWS,
    PREFIX,
    SUFFIX,
    Blocks,
    Rows,
    first_of_head,
    joined,
    prompt_rows,
    text_rows,
)
from infill_engine.models.trunk.soft_prompt import SoftPrompt
from infill_engine.text.sequences import common_prefix

NOTHING = Prompt((), (), ())
BEFORE = -1  # stands for the end of the prompt among the tokens of a pass
HURRIED_ROWS = 32  # rows that a request may have time to read itself


class PromptCache:
    """A prompt with the buffer of its keys and values, and the passes over texts that continue it.

    `prompt` is the one to be read, and `held` the part of it that is in the buffer. The first pass over texts reads the
    `waiting` rows of the prompt, too. If `adapted`, all passes have the terms of the edit adapter.
    """

    def __init__(self, backend: Backend, *, adapted: bool = False) -> None:
        self.prompt = self.held = NOTHING
        self.waiting = NO_ROWS
        self.continuations = Continuations()  # of the prompt in `held`
        self._backend, self._adapted = backend, adapted
        self._buffer = backend.new_buffer()
        self._suffix_saw: tuple[int, ...] = ()  # the prefix before the suffix when it was read
        self._suffix_at = 0  # the position of the suffix marker to which its keys are rotated

    @property
    def free_slots(self) -> int:
        """How many more tokens of texts fit."""
        return self.continuations.free_slots

    @property
    def outdated_suffix(self) -> bool:
        """Whether the suffix has not seen all of the prompt's prefix."""
        return bool(self.held.suffix) and self._suffix_saw != self.prompt.prefix

    def shared(self, prompt: Prompt) -> int:
        """Return how many tokens of `prompt` need not be read again."""
        if self.prompt.head != prompt.head:
            return 0
        prefix = len(self.held.head) + common_prefix(self.held.prefix, prompt.prefix)
        if self.held.prefix[: len(prompt.prefix)] != prompt.prefix or self._suffix_saw != prompt.prefix:
            return prefix
        suffix = common_prefix(self.held.suffix, prompt.suffix)
        if suffix < len(prompt.suffix):
            return prefix + suffix
        return prefix + suffix + common_prefix(self.held.middle, prompt.middle)

    def has_outdated_suffix_for(self, prompt: Prompt) -> bool:
        """Return whether a hurried request can use the suffix although it has not seen all of the prefix."""
        return self._usable_when_outdated(prompt) and self._suffix_saw != prompt.prefix

    def waits_for(self, prompt: Prompt) -> int:
        """Return how many tokens of `prompt` a hurried request would have to read."""
        suffix = len(prompt.suffix) if self.has_outdated_suffix_for(prompt) else 0
        return len(prompt.tokens) - self.shared(prompt) - suffix

    def take_prefix(self, other: "PromptCache", prompt: Prompt) -> None:
        """Hold the head and the prefix of `prompt`, as far as another cache has read them, and nothing else."""
        held = other.held
        prefix = prompt.prefix[: common_prefix(held.prefix, prompt.prefix)]
        same_head = (self.prompt.head, self.held.head) == (other.prompt.head, held.head)
        own = common_prefix(self.held.prefix, prefix) if same_head else 0
        if not same_head:
            self._backend.copy_from(self._buffer, other._buffer, slice(first_of_head(other.prompt), SUFFIX))
        self._backend.copy_from(self._buffer, other._buffer, slice(PREFIX + own, PREFIX + len(prefix)))
        self.prompt, self.held = other.prompt, Prompt(prefix, (), (), held.head)
        self._suffix_saw = ()
        self.continuations.clear()

    def begin_with(self, prompt: SoftPrompt) -> None:
        """Hold a soft prompt as the head, and nothing else."""
        self._backend.write(self._buffer, slice(SUFFIX - len(prompt), SUFFIX), prompt)
        self.prompt = self.held = Prompt((), (), (), prompt.tokens)
        self.continuations.clear()

    def read(self, prompt: Prompt, part: int, large_part: int, *, hurried: bool = False) -> Job[None]:
        """Read `prompt` in parts, except for the last one of `part` rows, which waits for the next pass.

        As long as more than HURRIED_ROWS rows are left, a part has up to `large_part` rows: a request that comes in
        between has no time to read the rest, so it does not matter how long it waits. If time runs out, what has been
        read is kept. If `hurried`, a suffix that has not seen the newest lines is used as it is. Nothing waits if what
        follows the prompt is known already.
        """
        self._advance_to(prompt)
        self._forget_from(prompt, keep_outdated=hurried)
        missing = self._missing()
        while len(missing) > part:
            rows = part if len(missing) <= HURRIED_ROWS else max(part, min(large_part, len(missing) - part))
            slots, missing = missing[:rows], missing[rows:]
            yield Work(Phase.READ, form_for(self._backend.forms, rows, 0).rows)
            self.run(prompt_rows(prompt, slots), rows - 1)
            self._hold(slots)
        self.waiting = prompt_rows(prompt, missing)

    def run(self, rows: Rows, first: int) -> PassResult:
        """Run one pass. Return the predictions from row `first` on."""
        return self._backend.run(self._buffer, replace(rows, adapted=self._adapted), first)

    def run_pass(
        self,
        tokens: Sequence[int],
        depths: Sequence[int],
        parents: Sequence[Sequence[int]],
        blocks: Blocks = NO_BLOCKS,
    ) -> tuple[list[Prediction], Denoised | None]:
        """Read `tokens` [T] after the prompt, and the rows of the prompt that wait.

        `depths` are the tokens' positions after the prompt. `parents` are the slots of the tokens before each of them;
        negative numbers are tokens of this pass (~0 is the first). The anchors of `blocks` are such tokens, or BEFORE
        for the end of a prompt that waits. Returns the prediction after each token, and what the blocks propose. The
        prediction after the prompt is kept in `continuations`.
        """
        slots = self.continuations.take(len(tokens))
        before = [[slots[~parent] if parent < 0 else parent for parent in each] for each in parents]
        waiting = self.waiting
        rows = joined(waiting, text_rows(self.prompt, tokens, depths, slots, before))
        placed = Blocks([len(waiting) + anchor for anchor in blocks.anchors], blocks.widths)
        found = self.run(replace(rows, blocks=placed), max(len(waiting) - 1, 0))
        self._hold(waiting.slots)
        self.waiting = NO_ROWS
        places = [-1, *slots] if waiting else slots
        after = [Prediction(*row) for row in zip(found.logprobs, found.likeliest, places, strict=True)]
        if waiting:
            self.continuations.keep((), after.pop(0))
        return after, found.denoised

    def after_prompt(self) -> Prediction:
        """Return the prediction after the prompt. Runs one pass over the waiting rows, if there are any."""
        if self.waiting:
            self.run_pass((), (), ())
        found = self.continuations.get(())
        assert found is not None  # otherwise the prompt's last token would wait
        return found

    def _advance_to(self, prompt: Prompt) -> None:
        """If `prompt` only adds the beginning of a text that has been read, make that part of the held prompt."""
        held = self.held
        same = (self.prompt.head, held.prefix, held.suffix) == (prompt.head, prompt.prefix, prompt.suffix)
        if not same or prompt.middle[: len(held.middle)] != held.middle:
            return
        slots = self.continuations.known_part(prompt.middle[len(held.middle) :])
        if slots:
            self._backend.copy(self._buffer, slots, MIDDLE + len(held.middle))
            self.held = replace(held, middle=prompt.middle[: len(held.middle) + len(slots)])
            self.continuations.advance(self.held.middle[len(held.middle) :])

    def _forget_from(self, prompt: Prompt, *, keep_outdated: bool) -> None:
        """Drop what is not part of `prompt`, and what has seen other tokens before it."""
        if self.prompt.head != prompt.head:
            self.held = NOTHING
        held = self.held
        prefix = prompt.prefix[: common_prefix(held.prefix, prompt.prefix)]
        fresh = self._suffix_saw == prompt.prefix
        suffix = prompt.suffix[: common_prefix(held.suffix, prompt.suffix)]
        if not fresh and not (keep_outdated and self._usable_when_outdated(prompt)):
            suffix = ()
        whole = prefix == prompt.prefix == held.prefix and suffix == prompt.suffix == held.suffix
        middle = held.middle[: common_prefix(held.middle, prompt.middle)] if whole else ()
        if suffix:
            self._move_suffix(len(prompt.head) + len(prompt.prefix), len(suffix))
        if not whole or middle != prompt.middle or held.middle != prompt.middle or not self._has_room():
            self.continuations.clear()
        if middle == prompt.middle and self.continuations.get(()) is None:
            middle = middle[:-1]  # its last row is read again, because the prediction after it is needed
        self.prompt, self.held, self.waiting = prompt, Prompt(prefix, suffix, middle, held.head), NO_ROWS

    def _has_room(self) -> bool:
        return self.continuations.free_slots >= LEAST_FREE

    def _usable_when_outdated(self, prompt: Prompt) -> bool:
        """Return whether the suffix that was read is this prompt's, and has seen most of the text above."""
        seen = common_prefix(self.held.prefix, prompt.prefix) > len(prompt.prefix) // 2
        return seen and self.prompt.head == prompt.head and self.held.suffix[: len(prompt.suffix)] == prompt.suffix

    def _missing(self) -> list[int]:
        """Return the slots of the prompt's tokens that have to be read, in order."""
        prompt = self.prompt
        return [
            *range(first_of_head(prompt) + len(self.held.head), SUFFIX),
            *range(PREFIX + len(self.held.prefix), PREFIX + len(prompt.prefix)),
            *range(SUFFIX + len(self.held.suffix), SUFFIX + len(prompt.suffix)),
            *range(MIDDLE + len(self.held.middle), MIDDLE + len(prompt.middle)),
        ]

    def _hold(self, slots: Sequence[int]) -> None:
        """Record that the prompt's tokens in these slots have been read."""
        prompt = self.prompt
        for slot in slots:
            if slot >= MIDDLE:
                self.held = replace(self.held, middle=prompt.middle[: slot - MIDDLE + 1])
            elif slot >= PREFIX:
                self.held = replace(self.held, prefix=prompt.prefix[: slot - PREFIX + 1])
            elif slot >= SUFFIX:
                self.held = replace(self.held, suffix=prompt.suffix[: slot - SUFFIX + 1])
                self._suffix_saw = prompt.prefix
                self._suffix_at = len(prompt.head) + len(prompt.prefix)
            else:
                self.held = replace(self.held, head=prompt.head[: slot - first_of_head(prompt) + 1])

    def _move_suffix(self, position: int, length: int) -> None:
        if position != self._suffix_at:
            self._backend.rotate(self._buffer, slice(SUFFIX, SUFFIX + length), position - self._suffix_at)
            self._suffix_at = position
