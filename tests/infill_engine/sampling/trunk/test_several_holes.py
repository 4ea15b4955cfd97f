"""Several holes in one search: known text is read between them, names stay equal, the replaced text is scored."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "models" / "trunk"))

from local_engine import engine_of
from tiny_trunk import tiny_model

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget
from infill_engine.errors import InputError
from infill_engine.models.trunk.backends.interface import PassResult
from infill_engine.sampling.proposals import Proposals, first_hole, in_all_holes
from infill_engine.sampling.trunk.middle import Middle, rules_of
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.types import AlternativesRequest, Gap, Hole, HoleKind, Holes, ProposedText, Reason

AGES_MS = 60_000
HOLE = Hole(HoleKind.EXPRESSION)
BEFORE = "class Box:\n    def f(self):\n        return "
ONE = AlternativesRequest(BEFORE, "\n", hole=HOLE, holes=Holes(("self.width",)))
TWO = AlternativesRequest(
    "def area(width, height):\n    area = ",
    "\n    return area\n",
    hole=HOLE,
    holes=Holes(("width", "height", " + 1"), (Gap(" * (", HOLE), Gap(")", HOLE))),
)
NAMES = AlternativesRequest(
    "def area(",
    " * height\n",
    hole=HOLE,
    holes=Holes(("width", "width"), (Gap(", height):\r\n    return ", None, 0),)),
)


class Fond:
    """A backend that prefers a few tokens: to one with random weights, all known text is too unlikely."""

    def __init__(self, inner, favoured):
        self.inner, self.favoured = inner, favoured

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def run(self, buffer, rows, first):
        logprobs = 0.2 * self.inner.run(buffer, rows, first).logprobs
        logprobs[:, self.favoured] += 8.0
        logprobs -= np.log(np.exp(logprobs).sum(-1, keepdims=True))
        return PassResult(logprobs, np.argsort(-logprobs, -1)[:, :24])


@pytest.fixture
def sampler(tmp_path):
    model = tiny_model(tmp_path)
    texts = (" * (", ")", ", height):\n    return ", "width", "height", " + 1", " * height\n")
    favoured = sorted({token for text in texts for token in model.vocabulary.encode(text)})
    return TreeSampler(replace(model, backend=Fond(model.backend, favoured)))


def proposals(sampler, request):
    budget = Budget(Deadline.after_ms(AGES_MS), sampler.costs, FinishMargin(1.0))
    return budget.run(sampler.propose(request, request.hole, (), request.holes)).proposals


@pytest.mark.parametrize("request_", [ONE, TWO, NAMES], ids=["one", "two", "names"])
def test_the_replaced_text_is_read_to_its_end(sampler, request_):
    texts = {one.text: one for one in proposals(sampler, request_)}
    original = texts[request_.holes.text.replace("\r\n", "\n")]
    assert original.logprob is not None
    if request_.holes.gaps:
        assert original.fills == request_.holes.replaced


@pytest.mark.parametrize("request_", [TWO, NAMES], ids=["two", "names"])
def test_a_whole_text_is_its_fills_and_the_known_text(sampler, request_):
    found = proposals(sampler, request_)
    assert len(found) > 1
    for one in found:
        assert len(one.fills) == 1 + len(request_.holes.gaps)
        assert one.text == request_.holes.middle(one.fills).replace("\r\n", "\n")


def test_a_name_in_several_holes_is_the_same_in_all(sampler):
    found = proposals(sampler, NAMES)
    assert len(found) > 1
    assert all(one.fills[0] == one.fills[1] for one in found)


def test_the_likelihood_of_a_whole_text_is_that_of_its_tokens(sampler):
    """Read once more as the text of a single hole, the replaced text is as likely as it was in three."""
    (whole,) = [one for one in proposals(sampler, TWO) if one.fills == TWO.holes.replaced]
    single = replace(TWO, holes=Holes((TWO.holes.text,)))
    (again,) = [one for one in proposals(sampler, single) if one.text == single.holes.replaced[0]]
    assert whole.tokens == again.tokens
    assert whole.logprob == pytest.approx(again.logprob, abs=0.05)


def test_the_engine_ranks_alternatives_by_how_much_likelier_they_are(tmp_path):
    engine = engine_of(tiny_model(tmp_path), "trunk")
    found = engine.alternatives(replace(ONE, candidates=8), Deadline.after_ms(AGES_MS)).candidates
    gains = [one.gain for one in found]
    assert gains == sorted(gains, reverse=True)
    assert all(one.text != "self.width" for one in found)


def test_what_follows_holes_that_are_filled(sampler):
    vocabulary = sampler.model.vocabulary
    middle = rules_of(vocabulary, HOLE, NAMES.suffix, NAMES.holes.gaps).middle
    known = middle.after((b"wi",))
    assert b"".join(map(vocabulary.bytes_of, known.tokens)) == b", height):\n    return wi"
    assert known.fills == (b"wi", b"wi")
    assert not known.opens
    assert middle.after((b"",)) is None  # an empty name
    assert middle.after((b"\xf0",)) is None  # a part of a character
    assert isinstance(middle, Middle)


def test_a_hole_after_known_text_begins_with_the_end_of_its_last_word(sampler):
    vocabulary = sampler.model.vocabulary
    known = rules_of(vocabulary, HOLE, TWO.suffix, TWO.holes.gaps).middle.after((b"a",))
    assert (b"".join(map(vocabulary.bytes_of, known.tokens)), known.start) == (b" *", b" (")
    assert known.opens


def test_holes_without_text_between_them_are_refused(tmp_path):
    engine = engine_of(tiny_model(tmp_path), "trunk")
    with pytest.raises(InputError, match="join them"):
        engine.alternatives(replace(ONE, holes=Holes(("a", "b"), (Gap("", HOLE),))), Deadline.after_ms(AGES_MS))


def test_a_model_for_one_hole_fills_several_if_they_have_one_name():
    asked = first_hole(NAMES)
    assert (asked.suffix, asked.holes) == (", height):\r\n    return width * height\n", Holes(("width",)))
    (one,) = in_all_holes(Proposals([ProposedText("size", -1.0, -1.0)]), NAMES.holes).proposals
    assert (one.text, one.fills) == ("size, height):\r\n    return size", ("size", "size"))
    assert first_hole(TWO) is None


def test_an_engine_for_one_hole_says_that_it_cannot_fill_several(tmp_path, family):
    engine = engine_of(family)
    assert engine.alternatives(TWO, Deadline.after_ms(AGES_MS)).reason is Reason.UNSUPPORTED
    assert engine.alternatives(NAMES, Deadline.after_ms(AGES_MS)).reason is not Reason.UNSUPPORTED
