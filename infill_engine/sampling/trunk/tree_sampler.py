"""How the trunk answers a request: one search over a tree of tokens, with as many passes as the time allows.

read the prompt ──▶ insert the retrieved texts ──▶ pass over the likeliest nodes ──▶ … ──▶ texts with their likelihoods
"""

from collections.abc import Callable, Iterator
from functools import partial

from infill_engine.budget.deadline import now, since, timed
from infill_engine.budget.work import AskLimit, Costs, Job, OutOfTime, Phase, Work, leaving
from infill_engine.context.ngrams import CachedLines, Ngrams
from infill_engine.context.snippets import SnippetRetriever
from infill_engine.edits.types import Region
from infill_engine.models.trunk.forms import MASKS, PassForm
from infill_engine.models.trunk.model import WINDOW, TrunkModel
from infill_engine.models.trunk.prompt import Prompt, build_head, fitting
from infill_engine.models.trunk.prompt_cache import HURRIED_ROWS, PromptCache
from infill_engine.sampling.proposals import Proposals, unscored_drafts
from infill_engine.sampling.proposer import Capabilities, Changes, Proposer, Rehearsal
from infill_engine.sampling.trunk.diff_prompt import diff_prompt
from infill_engine.sampling.trunk.rewriting import Rewriting
from infill_engine.sampling.trunk.token_tree import ROOT
from infill_engine.sampling.trunk.tree_search import TreeSearch
from infill_engine.types import ONE_HOLE, Draft, Hole, Holes, InfillRequest, ProjectText, Surroundings, TextRequest

# Rows and mask rows of the passes that are measured when a model is loaded. Other sizes follow from these until they
# have been measured.
MEASURED = (PassForm(8, 0), PassForm(8, MASKS), PassForm(16, 0))
ATTEMPTS = 2  # at each, the fastest of which counts: setup is a large part of a first pass
PARTS = (8, 16, 32, 64)  # rows of a prompt that are read at once
PART_MS, LARGE_PART_MS = 45.0, 160.0  # time limits for one such part: near the prompt's end, and far from it
# Time limit for a pass of a next edit on an idle machine. On a busy one, smaller passes would take much longer in all.
EDIT_MS = 100.0
HURRIED_MS = 100.0  # time limit for the part that the first pass of a request reads: two passes take longer than one
USUAL_ROWS = 8  # of a pass that must still fit after counting, and after reading a prompt
LEAST_ROWS = 4  # of a pass that is of any use
REHEARSAL_MS = 150.0
MOST_MEMORY_FAULTS = 2  # after which the model is given up


class TreeSampler(Proposer):
    """A loaded trunk, its measured costs, and the text it has counted. One request at a time."""

    def __init__(self, model: TrunkModel) -> None:
        self.model = model
        self.costs = Costs()
        self.part_ms, self.large_part_ms = PART_MS, LARGE_PART_MS
        self._lines = CachedLines(model.vocabulary.encode)
        self._retriever = SnippetRetriever()
        self._memory_faults = 0

    @property
    def can(self) -> Capabilities:
        """See `Proposer`."""
        return Capabilities(
            self.model.device, self.model.backend.profile, WINDOW, fills_several=True, goes_on=True, rewrites=True
        )

    def index(self, project_text: ProjectText) -> Iterator[None]:
        """See `Proposer`."""
        return self._retriever.index(project_text)

    def prefetch(self, around: Surroundings) -> Job[None]:
        """Read the prompt of a place, so that a later request nearby finds it cached, and tokenize the text around it.

        Snippets are retrieved only here; a hurried request uses those that have been read.
        """
        vocabulary = self.model.vocabulary
        before, partial_word = vocabulary.split_partial_word(around.prefix)
        snippets = self._retriever.retrieve(around, partial(fitting, vocabulary))
        head = build_head(vocabulary, around.path, snippets)
        cache = yield from self._read(self.model.prompt(before, around.suffix, head))
        if cache.waiting:
            yield Work(Phase.PASS, self.model.cost_rows(len(cache.waiting)))
            cache.after_prompt()
        yield from self._lines.encode(around.around(partial_word))

    def propose(
        self, request: TextRequest, hole: Hole, drafts: tuple[Draft, ...], holes: Holes = ONE_HOLE
    ) -> Job[Proposals]:
        """Return all texts found for a hole in time. An observer sees the tree after every pass.

        If there is no time to read the prompt, drafts are returned at once.
        """
        began = now()
        before, partial_word = self.model.vocabulary.split_partial_word(request.prefix)
        prompt = self.model.prompt(before, request.suffix, build_head(self.model.vocabulary, request.path))
        try:
            rows = self.model.rows_to_read(prompt)
            readable = yield from self._readable(rows)
            if readable == rows:
                cache = yield from self._read(prompt, hurried=True)
            elif readable:
                cache = yield from self.model.read_nearest(prompt, readable)
            else:
                raise OutOfTime
        except OutOfTime:
            return Proposals(unscored_drafts(drafts), since(began), incomplete_context=True)
        read_ms = since(began)
        began = now()
        ngrams = yield from self._count_in_time(request, partial_word)
        search = TreeSearch(self.model, cache, request, hole, holes, partial_word, ngrams, self.costs)
        search.insert(drafts)
        passes = yield from search.run()
        if not search.tree.nodes[ROOT].seen:
            return Proposals(unscored_drafts(drafts), read_ms, incomplete_context=True)
        proposals = search.proposals(drafts, passes) or ([] if search.is_complete else None)
        incomplete = cache.outdated_suffix or readable < rows
        final = self._retriever.has_indexed(request.project_name) and not incomplete
        return Proposals(proposals, read_ms, since(began), incomplete_context=incomplete, final=final)

    def rewrite(self, region: Region) -> Job[Changes]:
        """See `Proposer`."""
        definitions = self._retriever.definitions(region.lines, region.around)
        prompt = diff_prompt(self.model.vocabulary, region, definitions, self.model.held_separately)
        part = self._largest_part(EDIT_MS, self.best_pass_ms)
        try:
            cache = yield from self.model.read_separately(prompt.prompt, part=part)
        except OutOfTime:
            return Changes(final=False)
        rewriting = Rewriting(self.model, cache, prompt, part, region)
        final = yield from rewriting.run()
        return Changes(tuple(rewriting.found), final)

    def pass_ms(self, rows: int) -> float:
        """Return the expected milliseconds of a pass over `rows` tokens."""
        return self.costs.predict_ms(Phase.PASS, self.model.cost_rows(rows))

    def best_pass_ms(self, rows: int) -> float:
        """Return the milliseconds of a pass over `rows` tokens on an idle machine."""
        return self.costs.best_ms(Phase.PASS, self.model.cost_rows(rows))

    def warm_up(self) -> Iterator[Rehearsal]:
        """See `Proposer`."""
        self.measure()
        yield Rehearsal(InfillRequest("total = sum(", ")\n"), REHEARSAL_MS)

    def use_less_memory(self) -> str:
        """Forget all prompts, a few times; see `Proposer`."""
        self.model.forget_prompts()
        self._memory_faults += 1
        if self._memory_faults > MOST_MEMORY_FAULTS:
            return ""
        return "it has to read the text around the cursor again. Free some memory"

    def least_ms(self) -> float:
        """See `Proposer`."""
        return self.best_pass_ms(LEAST_ROWS)

    def forget_predictions(self) -> None:
        """See `Proposer`."""
        self.model.forget_continuations()

    def measure(self) -> None:
        """Measure passes of usual sizes, without one-time setup."""
        run_pass = self.model.separate_pass()
        for rows, masks in MEASURED if self.model.denoiser else (form for form in MEASURED if not form.masks):
            took_ms = min(timed(run_pass, rows, masks) for _ in range(ATTEMPTS))
            for phase in (Phase.READ, Phase.PASS):
                self.costs.observe(phase, self.model.cost_rows(rows, masks), took_ms)

    def _read(self, prompt: Prompt, *, hurried: bool = False) -> Job[PromptCache]:
        limit_ms = max(self.part_ms, HURRIED_MS) if hurried else self.part_ms
        part, large_part = self._largest_part(limit_ms), self._largest_part(self.large_part_ms)
        return self.model.read(prompt, part=part, large_part=large_part, hurried=hurried)

    def _readable(self, rows: int) -> Job[int]:
        """Return how many tokens of a prompt fit into the request's time besides a search, at most `rows`."""
        if rows <= HURRIED_ROWS:
            return rows
        limit = yield AskLimit()
        time_ms = limit.deadline.remaining_ms() - limit.finish_ms - self.pass_ms(USUAL_ROWS)
        most = self.model.most_rows
        whole = int(max(time_ms, 0.0) / max(self.pass_ms(most), 1e-6)) * most
        part = max((size for size in PARTS if size <= most and self.pass_ms(size) <= time_ms), default=0)
        return min(max(whole, part), rows)

    def _largest_part(self, limit_ms: float, pass_ms: Callable[[int], float] | None = None) -> int:
        expected = pass_ms or self.pass_ms
        parts = (rows for rows in PARTS if rows <= self.model.most_rows and expected(rows) <= limit_ms)
        return max(parts, default=min(PARTS))

    def _count_in_time(self, request: Surroundings, partial_word: str) -> Job[Ngrams | None]:
        encode = self._lines.encode(request.around(partial_word))
        try:
            return Ngrams((yield from leaving(encode, self.pass_ms(USUAL_ROWS))))
        except OutOfTime:
            return None
