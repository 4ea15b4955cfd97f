"""Where a pass puts mask rows, and how what they propose is planted and verified."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "models" / "trunk"))

from tiny_trunk import tiny_model

from infill_engine.deadline import Deadline, FinishMargin
from infill_engine.models.trunk.denoiser import BLOCK, Denoiser, Head, MaskProposals
from infill_engine.sampling.mask_blocks import MaskCosts, choose_blocks, measured_mask_costs, plant_proposals
from infill_engine.sampling.middle import EndRules
from infill_engine.sampling.token_tree import ROOT, TokenTree
from infill_engine.sampling.tree_sampler import TreeSampler
from infill_engine.settings import SamplerSettings
from infill_engine.types import Hole, HoleKind, InfillRequest
from infill_engine.work import Budget, Phase

FREE, DEAR = MaskCosts(0.0, 0.0), MaskCosts(50.0, 5.0)
NONE = np.empty(0, np.int64)
SURVIVAL = (0.6, 0.5, 0.4, 0.01)


class Letters:
    def bytes_of(self, token):
        return bytes([token])

    def completions_of(self, start):
        return NONE, NONE


def tree_of(text, probability=0.9):
    tree = TokenTree(Letters(), EndRules(NONE, NONE, NONE))
    path = tree.plant(text)
    for depth, number in enumerate(path):
        tree.nodes[number].logprob = float(np.log(probability) * (depth + 1))
    return tree, path


def blocks(tree, anchors, costs, survival=SURVIVAL, gain=1.0):
    return choose_blocks(tree, anchors, survival, gain, 20.0, costs)


def test_masks_that_cost_nothing_are_used_and_dear_ones_are_not():
    tree, path = tree_of(b"ab")
    assert blocks(tree, path, DEAR) == []
    assert dict(blocks(tree, path, FREE))[path[1]] == BLOCK


@pytest.mark.parametrize(("row_ms", "expected"), [(0.5, 3), (2.0, 2), (4.0, 1), (8.0, 0)])
def test_slots_that_seldom_survive_do_not_pay(row_ms, expected):
    tree, path = tree_of(b"a", 1.0)
    found = blocks(tree, path, MaskCosts(0.0, row_ms), gain=0.6)
    assert found == ([(path[0], expected)] if expected else [])


def test_masks_go_behind_the_node_that_is_likely_to_be_the_last_right_one():
    tree, path = tree_of(b"abc", 0.95)
    ((number, _), *_) = blocks(tree, path, MaskCosts(0.0, 1.0), gain=0.5)
    assert number == path[-1]
    tree.nodes[path[-1]].logprob = float(np.log(0.1))
    ((number, _), *_) = blocks(tree, path, MaskCosts(0.0, 1.0), gain=0.5)
    assert number == path[-2]


def proposing(tokens, logprob=0.0):
    """MaskProposals behind the root that the head does not change, one token each."""
    count = len(tokens)
    return MaskProposals(
        [-1] * count,
        list(range(count)),
        np.array(tokens)[:, None],
        np.full((count, 1), logprob, np.float32),
        np.zeros((count, 1), np.float32),
        np.zeros((count, 1, 1), np.float32),
        lambda _token: np.zeros(1, np.float32),
    )


@pytest.mark.parametrize(
    ("tokens", "logprob", "expected"),
    [(b"xyz", -0.1, b"axyz"), (b"x;z", -0.1, b"ax"), (b"xyz", -2.0, b"ax"), (b"xyz", -4.0, b"a")],
)
def test_a_proposal_is_planted_as_far_as_it_is_text_and_likely(tokens, logprob, expected):
    tree, _ = tree_of(b"a")
    plant_proposals(tree, proposing(list(tokens), logprob), lambda _row: ROOT, {ord(";")})
    assert max((node.text for node in tree.nodes), key=len) == expected
    assert tree.probability(len(tree.nodes) - 1) == pytest.approx(0.9 * np.exp(logprob * (len(expected) - 1)), 1e-3)


@pytest.fixture
def model(tmp_path):
    """A tiny trunk whose mask rows have random terms."""
    model = tiny_model(tmp_path)
    generator = torch.Generator().manual_seed(1)
    network, dim = model.backend.network, model.backend.config.dim
    for layer in network.layers:
        terms = {}
        for name, inside in (("qkv", dim), ("out", dim), ("gate_up", dim), ("down", 48)):
            with torch.inference_mode():
                out = getattr(layer, name)(torch.zeros(1, inside)).shape[1]
            terms[name] = tuple(torch.randn(*shape, generator=generator) / 4 for shape in ((out, 2), (2, inside)))
        object.__setattr__(layer, "terms", terms)
    head = Head(*(torch.randn(*shape, generator=generator) for shape in ((2, dim), (2, dim), (dim, 2))))
    denoiser = Denoiser({}, torch.randn(BLOCK, dim, generator=generator), head, (0.9, 0.9, 0.9, 0.9))
    object.__setattr__(model.backend, "denoiser", denoiser)
    return model


def proposed(model, costs, seen=None, monkeypatch=None):
    sampler = TreeSampler(model, SamplerSettings())
    sampler.mask_costs = costs
    sampler.costs.observe(Phase.PASS, 8, 1.0)
    budget = Budget(Deadline.after_ms(600_000), sampler.costs, FinishMargin(1.0))
    request = InfillRequest("class Box:\n    def __init__(self, width, height):\n        self.width", "\n")
    return budget.run(sampler.propose(request, Hole(HoleKind.LINE), (), budget))


def test_proposals_are_planted_and_the_next_pass_verifies_them(model, monkeypatch):
    planted = []

    def noted(tree, *rest, original=plant_proposals):
        found = original(tree, *rest)
        planted.extend((tree, number) for path in found for number in path)
        return found

    monkeypatch.setattr("infill_engine.sampling.tree_search.plant_proposals", noted)
    monkeypatch.setattr("infill_engine.sampling.mask_blocks.LEAST_NEXT", -50.0)
    monkeypatch.setattr("infill_engine.sampling.mask_blocks.LEAST_PROPOSED", -50.0)
    assert proposed(model, FREE).proposals
    assert planted
    assert any(tree.nodes[number].logprob is not None and tree.nodes[number].slot >= 0 for tree, number in planted)


def test_without_masks_nothing_is_proposed(model, monkeypatch):
    monkeypatch.setattr("infill_engine.sampling.tree_search.plant_proposals", lambda *_: pytest.fail("proposed"))
    assert proposed(model, None).proposals
    assert proposed(model, MaskCosts(1e9, 1e9)).proposals


def test_equal_requests_have_equal_proposals_with_masks(model):
    one, other = proposed(model, FREE).proposals, proposed(model, FREE).proposals
    assert [(each.text, each.steps) for each in one] == [(each.text, each.steps) for each in other]


def test_costs_are_measured(model):
    costs = measured_mask_costs(model)
    assert costs.predict_ms(0) == 0
    assert costs.predict_ms(4) >= costs.predict_ms(1) >= 0
