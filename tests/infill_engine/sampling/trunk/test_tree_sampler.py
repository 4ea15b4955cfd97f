"""What the trunk makes of requests, with a network in miniature: in time, the same for the same, drafts first."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "models" / "trunk"))

from local_engine import engine_of
from tiny_trunk import tiny_model

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import AskLimit, Budget, Choice, Limit, OutOfTime, Phase, Work, finished
from infill_engine.context.project_text import joined
from infill_engine.models.base import NoNumbersError
from infill_engine.models.trunk.backends.interface import PassResult
from infill_engine.models.trunk.slots import MIDDLE
from infill_engine.sampling.trunk.tree_nodes import TreeStep
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.sampling.trunk.tree_search import TreeSearch
from infill_engine.types import Draft, Hole, HoleKind, InfillRequest, ProjectText, Source

PREFIX = "class Box:\n    def __init__(self, width, height):\n        self.width = width\n        self.he"
SUFFIX = "\n\n    def area(self):\n        return self.width * self.height\n"
REQUEST = InfillRequest(PREFIX, SUFFIX)
LINE = Hole(HoleKind.LINE)
DRAFTS = (Draft("ight = height", copied=9), Draft("ight = 3", analogous=4))
AGES_MS = 60_000


@pytest.fixture
def sampler(tmp_path):
    return TreeSampler(tiny_model(tmp_path))


def proposal(sampler, request=REQUEST, hole=LINE, drafts=DRAFTS, ms=AGES_MS, observer=None, deadline=None):
    budget = Budget(deadline or Deadline.after_ms(ms), sampler.costs, FinishMargin(1.0))
    return budget.run(sampler.propose(request, hole, drafts), observer)


def test_every_draft_comes_back_with_its_likelihood(sampler):
    found = proposal(sampler)
    drafts = {one.text: one for one in found.proposals if one.draft is not None}
    assert set(drafts) == {draft.text for draft in DRAFTS}
    assert all(one.logprob is not None and one.source is Source.RETRIEVAL for one in drafts.values())


def test_texts_complete_the_word_at_the_cursor_and_hold_no_line_break(sampler):
    found = proposal(sampler, drafts=())
    assert found.proposals
    assert all("\n" not in one.text for one in found.proposals)


def test_equal_requests_have_equal_guesses(tmp_path):
    def once():
        return proposal(TreeSampler(tiny_model(tmp_path))).proposals

    one, other = once(), once()
    assert [(each.text, each.passes) for each in one] == [(each.text, each.passes) for each in other]


def test_where_there_is_no_time_drafts_come_back_unread(sampler):
    sampler.costs.observe(Phase.PASS, 64, 500.0)
    found = proposal(sampler, ms=30)
    assert found.incomplete_context
    assert {one.text for one in found.proposals} == {draft.text for draft in DRAFTS}
    assert all(one.logprob is None for one in found.proposals)


def test_a_prompt_that_cannot_be_read_in_time_is_not_begun_and_drafts_come_back_at_once(sampler):
    for rows in (8, 16, 32, 64):
        sampler.costs.observe(Phase.PASS, rows, 40.0)  # parts of the prompt would fit, the whole would not
    request = replace(REQUEST, prefix="a, b = b, a\n" * 80 + PREFIX)
    prompt = sampler.model.prompt(request.prefix, request.suffix)
    rows = sampler.model.rows_to_read(prompt)
    assert proposal(sampler, request, ms=60).incomplete_context
    assert sampler.model.rows_to_read(prompt) == rows


def test_a_pass_that_could_not_finish_is_not_begun(sampler):
    now = 0.0
    passes = []

    def run(buffer, rows, first, original=sampler.model.backend.run):
        nonlocal now
        now += 0.040
        passes.append(now)
        return original(buffer, rows, first)

    backend = sampler.model.backend
    object.__setattr__(sampler.model, "backend", Slow(backend, run))
    for size in (8, 16, 32, 64):
        sampler.costs.observe(Phase.PASS, size, 40.0)
    deadline = Deadline(0.150, lambda: now)
    proposal(sampler, deadline=deadline)
    assert passes
    assert passes[-1] <= 0.150


def within(sampler, passes, request):
    """Return what is found in so many passes."""
    job = sampler.propose(request, LINE, ())
    event = next(job)
    while True:
        try:
            if isinstance(event, Work) and event.phase is Phase.PASS:
                passes -= 1
                event = job.throw(OutOfTime) if passes < 0 else job.send(None)
            elif isinstance(event, AskLimit):
                event = job.send(Limit(Deadline.after_ms(60_000), 0.0))
            else:
                event = job.send(0 if isinstance(event, Choice) and [*event.works] else None)
        except StopIteration as end:
            return end.value.proposals


def test_a_search_without_any_text_says_whether_time_ran_out(sampler, monkeypatch):
    monkeypatch.setattr(TreeSearch, "proposals", lambda *_: [])
    finished(sampler.prefetch(REQUEST))
    assert within(sampler, 1, REQUEST) is None
    assert within(sampler, 1000, REQUEST) == []


def test_the_suffix_is_used_as_it_is_in_a_hurry_and_the_answer_is_not_final(sampler):
    proposal(sampler)
    later = replace(REQUEST, prefix=PREFIX + "ight = height\n        self.wi")
    found = proposal(sampler, later)
    assert found.incomplete_context
    assert not found.final
    finished(sampler.prefetch(later))
    assert proposal(sampler, later).final


def test_inside_a_line_texts_keep_brackets_balanced(sampler):
    request = InfillRequest("total = sum(", ", 2)\n")
    found = proposal(sampler, request, Hole(HoleKind.EXPRESSION, closers=")"), drafts=())
    for one in found.proposals:
        if not one.partial:
            assert one.text.count("(") == one.text.count(")")


def test_a_request_that_names_text_not_indexed_yet_is_worth_another_try(sampler):
    project_text = ProjectText.of("self.height = height\n")
    named = replace(REQUEST, project_name=project_text.name)
    assert not proposal(sampler, named).final
    list(sampler.index(project_text))
    assert proposal(sampler, named).final


def test_numbers_that_are_none_are_told(sampler):
    class Broken(Slow):
        def run(self, buffer, rows, first):
            found = self.inner.run(buffer, rows, first)
            return PassResult(np.full_like(found.logprobs, np.nan), found.likeliest)

    object.__setattr__(sampler.model, "backend", Broken(sampler.model.backend))
    with pytest.raises(NoNumbersError):
        proposal(sampler)


def test_somebody_who_watches_sees_the_texts_grow(sampler):
    seen = []
    proposal(sampler, observer=lambda after: seen.append(after.state))
    assert [step.number for step in seen] == list(range(1, len(seen) + 1))
    assert all(isinstance(step, TreeStep) and step.texts for step in seen)


def test_the_engine_serves_it(tmp_path):
    engine = engine_of(tiny_model(tmp_path), "trunk")
    answer = engine.answer(REQUEST, Deadline.after_ms(AGES_MS))
    assert answer.candidates
    assert engine.answer(REQUEST, Deadline.after_ms(AGES_MS)).candidates == answer.candidates


class Slow:
    """A backend whose passes are run by somebody else."""

    def __init__(self, inner, run=None):
        self.inner = inner
        if run is not None:
            self.run = run

    def __getattr__(self, name):
        return getattr(self.inner, name)


HURRIED_ROWS = joined(
    [("app/shapes.py", "def draw_shape(width, height):\n    return width\n"), ("app/far.py", "far = 1\n" * 40)]
)
CALLING = replace(REQUEST, prefix="draw_shape(1)\n" + PREFIX, project_name=HURRIED_ROWS.name, path="app/box.py")


def test_snippets_are_read_ahead_and_used_by_hurried_requests(sampler):
    list(sampler.index(HURRIED_ROWS))
    finished(sampler.prefetch(CALLING))
    cache = sampler.model._caches[-1]
    ids = sampler.model.vocabulary.encode("app/shapes.py\ndef draw_shape(width, height):\n    return width\n")
    assert list(cache.prompt.head[1 : 1 + len(ids)]) == ids
    before = cache.held.head
    proposal(sampler, CALLING)
    assert sampler.model._caches[-1] is cache
    assert cache.held.head == before


def test_a_keystroke_neither_retrieves_nor_reads_again(sampler, monkeypatch):
    list(sampler.index(HURRIED_ROWS))
    finished(sampler.prefetch(CALLING))
    monkeypatch.setattr(sampler._retriever, "retrieve", lambda *_: pytest.fail("retrieved in a hurry"))
    rows = []
    run = sampler.model.backend.run

    def noting(buffer, each, first):
        rows.extend(each.slots)
        return run(buffer, each, first)

    object.__setattr__(sampler.model, "backend", Slow(sampler.model.backend, noting))
    for cache in sampler.model._caches:
        cache._backend = sampler.model.backend
    for typed in ("i", "igh", "ight = he"):
        proposal(sampler, replace(CALLING, prefix=CALLING.prefix + typed), drafts=())
    assert rows
    assert min(rows) >= MIDDLE


def test_typing_a_line_keeps_the_snippets_and_calm_reading_reads_nothing_again(sampler):
    list(sampler.index(HURRIED_ROWS))
    finished(sampler.prefetch(CALLING))
    caches = list(sampler.model._caches)
    for typed in ("ight", "ight = draw_shape(", "ight = draw_shape(self.width)"):
        finished(sampler.prefetch(replace(CALLING, prefix=CALLING.prefix + typed)))
    assert sampler.model._caches == caches


def test_a_request_without_a_path_or_a_project_has_no_head(sampler):
    finished(sampler.prefetch(REQUEST))
    assert sampler.model._caches[-1].prompt.head == ()


def test_a_second_search_at_the_same_place_goes_on_where_the_first_stopped(sampler):
    passes = []

    def run(*arguments, original=sampler.model.backend.run, **others):
        passes.append(len(arguments[1]))
        return original(*arguments, **others)

    object.__setattr__(sampler.model, "backend", Slow(sampler.model.backend, run))
    first = proposal(sampler, drafts=())
    made = len(passes)
    again = proposal(sampler, drafts=())
    assert made > 1
    assert len(passes) == made, "everything was known"
    assert [one.text for one in again.proposals] == [one.text for one in first.proposals]
    typed = replace(REQUEST, prefix=PREFIX + first.proposals[0].text[0])
    longer = proposal(sampler, typed, drafts=())
    assert len(passes) - made < made
    assert longer.proposals
