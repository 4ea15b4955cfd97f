"""The trunk as the search uses it: which prompts it keeps, and in which of them a new one is read."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil

from infill_engine.budget.work import Job
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.forms import form_for
from infill_engine.models.trunk.prompt import Prompt, TrunkVocabulary, build_prompt
from infill_engine.models.trunk.prompt_cache import HURRIED_ROWS, NOTHING, PromptCache
from infill_engine.models.trunk.slots import TEXTS, Blocks, text_rows
from infill_engine.models.trunk.soft_prompt import SoftPrompt
from infill_engine.settings import WindowSettings

WINDOW = WindowSettings(prefix_chars=1600, suffix_chars=500, wants_project=True)
MOST_ROWS = 64  # of a pass, if the backend sets no limit
CACHES = 4  # prompts that are kept: of two editor windows, of a new reading in one, and of a brief visit elsewhere


@dataclass(slots=True)
class TrunkModel:
    """A loaded trunk. One request at a time."""

    backend: Backend
    vocabulary: TrunkVocabulary
    user_message: str = ""  # what the user should know about how it was loaded
    soft_prompt: SoftPrompt | None = None  # of next edits
    denoises: bool = True  # whether mask rows are used, if there are any
    _caches: list[PromptCache] = field(default_factory=list)  # the most recently used last
    _separate: PromptCache | None = None  # see `read_separately`
    _nearest: PromptCache | None = None  # see `read_nearest`

    @property
    def device(self) -> str:
        """The device that it computes on."""
        return self.backend.device

    @property
    def denoiser(self) -> Denoiser | None:
        """The weights of mask rows; without them there are no blocks."""
        return self.backend.denoiser if self.denoises else None

    def cost_rows(self, rows: int, masks: int = 0) -> int:
        """Return how many rows cost as much as a pass over `rows` rows and `masks` mask rows.

        It differs between the forms of the backend.
        """
        form = form_for(self.backend.forms, rows, masks)
        return form.rows + (ceil(form.masks * self.denoiser.mask_share) if self.denoiser else 0)

    @property
    def most_rows(self) -> int:
        """The most rows that one pass should have."""
        return max((form.rows for form in self.backend.forms), default=MOST_ROWS)

    def prompt(self, prefix: str, suffix: str, head: tuple[int, ...] = ()) -> Prompt:
        """Return the prompt of a hole. `prefix` ends before the word at the cursor."""
        return build_prompt(self.vocabulary, prefix, suffix, head)

    def read(
        self, prompt: Prompt, *, part: int = MOST_ROWS, large_part: int = MOST_ROWS, hurried: bool = False
    ) -> Job[PromptCache]:
        """Read the new part of a prompt.

        Reads `part` rows at a time, or `large_part` while many are left; the last part waits for the next pass. If
        time runs out, what has been read is kept. If `hurried`, a cached prompt with another head is used if that
        leaves less to read.
        """
        part, large_part = min(part, self.most_rows), min(large_part, self.most_rows)
        prompt, cache = self._choose_for_request(prompt) if hurried else (prompt, self._choose_for_reading(prompt))
        if self._is_served_by_others(prompt, cache):
            large_part = part
        yield from cache.read(prompt, part, large_part, hurried=hurried)
        return cache

    def read_separately(self, prompt: Prompt, *, part: int) -> Job[PromptCache]:
        """Read the prompt of a next edit, with the edit adapter if there is one, and otherwise after the soft prompt.

        Its buffer is separate, so that the prompts of completions stay.
        """
        adapts = self.backend.adapts
        cache = self._separate = self._separate or PromptCache(self.backend, adapted=adapts)
        if self.soft_prompt is not None and not adapts:
            prompt = replace(prompt, head=self.soft_prompt.tokens)
            if cache.prompt.head != prompt.head:
                cache.begin_with(self.soft_prompt)
        cache.continuations.clear()  # its texts need all slots
        yield from cache.read(prompt, part, part)
        return cache

    def read_nearest(self, prompt: Prompt, tokens: int) -> Job[PromptCache]:
        """Read only the nearest text of a prompt, in a buffer of its own, because there is no time for the rest."""
        cache = self._nearest = self._nearest or PromptCache(self.backend)
        yield from cache.read(prompt.nearest(tokens), self.most_rows, self.most_rows)
        return cache

    @property
    def held_separately(self) -> tuple[int, ...]:
        """The prefix of the prompt that was read separately last, as far as it was read."""
        return self._separate.held.prefix if self._separate is not None else ()

    def rows_to_read(self, prompt: Prompt) -> int:
        """Return how many rows a hurried request would have to read, whatever the head."""
        rows = (cache.waits_for(replace(prompt, head=cache.prompt.head)) for cache in self._caches)
        return min(rows, default=len(prompt.tokens))

    def forget_continuations(self) -> None:
        """Forget what was predicted after prompts; the prompts themselves stay."""
        for cache in self._caches:
            cache.continuations.clear()

    def forget_prompts(self) -> None:
        """Forget all prompts and release the memory of what was read."""
        self._caches, self._separate, self._nearest = [], None, None

    def separate_pass(self) -> Callable[[int, int], None]:
        """Return a function that runs a pass over numbers of rows and mask rows in a buffer of its own. No prompt is
        forgotten.

        Such a pass costs as much as one after a prompt of any length.
        """
        cache = PromptCache(self.backend)

        def run_pass(rows: int, masks: int = 0) -> None:
            slots = range(TEXTS, TEXTS + rows)
            width = self.denoiser.slots if self.denoiser is not None else 1
            widths = [min(width, masks - before) for before in range(0, masks, width)]
            blocks = Blocks(range(len(widths)), widths)
            texts = text_rows(NOTHING, [0] * rows, [0] * rows, slots, [[]] * rows)
            cache.run(replace(texts, blocks=blocks), 0)

        return run_pass

    def _choose_for_request(self, prompt: Prompt) -> tuple[Prompt, PromptCache]:
        """Return the prompt with the head of the cache that leaves the least to read, and that cache.

        Among equals, a cache whose suffix is up to date wins, then the most recently used one.
        """

        def cost(each: tuple[Prompt, PromptCache]) -> tuple[int, bool]:
            return each[1].waits_for(each[0]), each[1].has_outdated_suffix_for(each[0])

        prompts = [(replace(prompt, head=cache.prompt.head), cache) for cache in reversed(self._caches)]
        found, cache = min(prompts, key=cost, default=(prompt, None))
        if cache is None or not self._shares_much(cache, found):
            return prompt, self._most_shared(prompt)
        self._mark_used(cache)
        return found, cache

    def _is_served_by_others(self, prompt: Prompt, cache: PromptCache) -> bool:
        """Return whether requests can be answered from another cache while this one is being read."""
        others = (other for other in self._caches if other is not cache)
        return any(other.waits_for(replace(prompt, head=other.prompt.head)) <= HURRIED_ROWS for other in others)

    def _choose_for_reading(self, prompt: Prompt) -> PromptCache:
        """Return a cache for a prompt that nobody waits for. One with an outdated suffix is left to serve meanwhile."""
        serving = self._most_shared(prompt)
        if not serving.has_outdated_suffix_for(prompt):
            return serving
        others = [cache for cache in reversed(self._caches) if cache is not serving]
        beside = max(others, key=lambda cache: cache.shared(prompt), default=None)
        if beside is None or not self._shares_much(beside, prompt):
            beside = self._least_used()
        beside.take_prefix(serving, prompt)
        self._mark_used(beside)
        return beside

    def _least_used(self) -> PromptCache:
        """A new cache, or the least recently used one."""
        return PromptCache(self.backend) if len(self._caches) < CACHES else self._caches[0]

    def _most_shared(self, prompt: Prompt) -> PromptCache:
        """The cache that shares most with a prompt; a new one or the least recently used one if none shares much."""
        best = max(reversed(self._caches), key=lambda cache: cache.shared(prompt), default=None)
        if best is None or not self._shares_much(best, prompt):
            best = self._least_used()
        self._mark_used(best)
        return best

    def _shares_much(self, cache: PromptCache, prompt: Prompt) -> bool:
        shared, head = cache.shared(prompt), len(cache.held.head)
        return shared - head > len(prompt.prefix) // 4 or 2 * shared >= len(cache.held.tokens)

    def _mark_used(self, cache: PromptCache) -> None:
        """Mark a cache as the last one used. Only it keeps its predictions: a full buffer of them takes 70 MB."""
        others = [other for other in self._caches if other is not cache]
        for other in others:
            other.continuations.clear()
        self._caches = [*others, cache]
