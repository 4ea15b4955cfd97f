"""The trainer of next edits: what a region teaches, how regions are packed, and that an adapter learns them."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny import TRUNK, base_of
from tiny_trunk import write_tokenizer

from infill_engine.models.trunk.adapter import NAMES
from infill_engine.models.trunk.network import UNSEEN, Layer, Network, attention, forward, normed
from infill_engine.models.trunk.prompt import Prompt, TrunkVocabulary
from infill_engine.sampling.trunk.diff_prompt import DiffPrompt, RegionLine
from train.figures import means
from train.low_rank import new_adapter
from train.next_edits.examples import Drawn
from train.next_edits.layout import INSERT, KEEP, REMOVE, LineChange, changes_in, lay_out
from train.next_edits.packing import pack
from train.next_edits.task import NextEdits
from train.trunk.network import products_of, states_of

START = (7, 8, 9)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory) -> TrunkVocabulary:
    return TrunkVocabulary(write_tokenizer(tmp_path_factory.mktemp("tokenizer")))


def prompt_of(vocabulary, *lines, known=()) -> DiffPrompt:
    made = [RegionLine(line, line in known, tuple(vocabulary.encode(f" {line}\n"))) for line in lines]
    return DiffPrompt(Prompt(START[:-1], (), START[-1:]), tuple(made), 0)


def before(laid, row) -> list[int]:
    """The tokens that a row sees, itself included."""
    return laid.ids[laid.seen[row]].tolist()


def test_each_line_that_may_change_is_decided_on(vocabulary):
    laid = lay_out(prompt_of(vocabulary, "a", "mine", "b", known=("mine",)), [LineChange(2, 1, ("c",))], vocabulary)
    assert laid.first_starts == 2
    assert laid.signs.tolist() == [KEEP, REMOVE, INSERT, KEEP]
    assert laid.changed.tolist() == [False, True, True, True]
    assert before(laid, laid.starts[0]) == list(START)
    assert before(laid, laid.starts[1]) == [*START, *vocabulary.encode(" a\n"), *vocabulary.encode(" mine\n")]


def test_a_change_follows_the_lines_above_it_and_not_those_below(vocabulary):
    laid = lay_out(prompt_of(vocabulary, "a", "b", "c"), [LineChange(1, 1, ("width",))], vocabulary)
    written = vocabulary.encode("+width\n")
    assert laid.tokens.tolist() == written
    above = [*START, *vocabulary.encode(" a\n"), *vocabulary.encode("-b\n")]
    for count, row in enumerate(laid.rows.tolist()):
        assert before(laid, row) == [*above, *written[:count]]
        assert laid.positions[row] == len(above) + count - 1


@pytest.mark.parametrize(
    ("change", "signs"),
    [
        pytest.param(LineChange(0, 0, ("x", "y")), [INSERT, KEEP, INSERT, KEEP], id="lines are inserted"),
        pytest.param(LineChange(0, 2, ()), [REMOVE, KEEP, REMOVE, KEEP], id="lines are removed"),
        pytest.param(LineChange(1, 1, ("x", "y")), [KEEP, REMOVE, INSERT, INSERT, KEEP], id="one becomes two"),
    ],
)
def test_signs_lead_through_a_change(vocabulary, change, signs):
    assert lay_out(prompt_of(vocabulary, "a", "b"), [change], vocabulary).signs.tolist() == signs


def test_inserted_lines_of_later_hunks_are_learned_too(vocabulary):
    hunks = "changes.diff\n@@ a @@\n b\n-c\n+width\n d\n@@ a @@\n-e\n+height\n++\n f\n@@ a @@\n g\n"
    tokens = vocabulary.encode(hunks)
    laid = lay_out(DiffPrompt(Prompt(tuple(tokens[:-1]), (), tuple(tokens[-1:])), (), 0), [], vocabulary)
    assert vocabulary.decode([tokens[row + 1] for row in laid.told.tolist()]) == "+height\n++\n"


def test_only_changes_of_whole_unknown_lines_count(vocabulary):
    prompt = prompt_of(vocabulary, "a", "mine", "b", known=("mine",))
    hunks = [(9, ["a"], []), (10, ["a"], ["x"]), (11, ["mine"], ["x"]), (12, ["b"], ["y"]), (12, ["other"], ["y"])]
    assert list(changes_in(prompt, 10, hunks)) == [LineChange(0, 1, ("x",)), LineChange(2, 1, ("y",))]


def two_regions(vocabulary):
    """Two layouts whose prompts begin with the same tokens."""
    first = lay_out(prompt_of(vocabulary, "a", "b"), [LineChange(1, 1, ("c",))], vocabulary)
    second = lay_out(prompt_of(vocabulary, "b", "d"), [], vocabulary)
    return [replace(each, ids=each.ids % 60, tokens=each.tokens % 60) for each in (first, second)]


def random_adapter(rank=4):
    chance = torch.Generator().manual_seed(1)
    adapter = new_adapter(TRUNK, rank)
    return {name: each + torch.randn(each.shape, generator=chance) * 0.1 for name, each in adapter.items()}


def merged_network(adapter):
    def linear(number, layer, name):
        up, down = (adapter[f"layers.{number}.{name}.{side}"] for side in ("up", "down"))
        return partial(F.linear, weight=getattr(layer, name) + up @ down, bias=layer.bias if name == "qkv" else None)

    layers = [
        Layer(layer.attention_norm, layer.mlp_norm, *(linear(number, layer, name) for name in NAMES))
        for number, layer in enumerate(TRUNK.layers)
    ]
    return Network(TRUNK.config, layers, TRUNK.norm, lambda ids: TRUNK.embedding[ids], lambda x: x)


def test_packed_regions_have_the_states_that_each_has_alone_in_the_merged_trunk(vocabulary):
    regions, adapter = two_regions(vocabulary), random_adapter()
    network = merged_network(adapter)
    packed = pack(regions)
    assert len(packed.rows) == sum(len(each.ids) for each in regions) - (len(START) - 1)
    found = states_of(TRUNK, products_of(TRUNK), adapter, packed.rows)
    for region, place in zip(regions, packed.places, strict=True):
        mask = torch.zeros(region.seen.shape).masked_fill_(~region.seen, UNSEEN)
        states = forward(network, network.embed(region.ids), region.positions, lambda _, *of, m=mask: attention(*of, m))
        torch.testing.assert_close(found[place], normed(network, states), atol=1e-4, rtol=1e-3)


class Small(NextEdits):
    """The task for the tiny trunk, whose signs are tokens of its vocabulary."""

    def __init__(self, vocabulary):
        super().__init__(base_of(), vocabulary, 4)
        self._signs = [torch.arange(first, first + 8) for first in (0, 8, 16)]


def test_the_gradients_are_those_of_the_loss(vocabulary):
    task, adapter, drawn = Small(vocabulary), random_adapter(), Drawn(0, True, pack(two_regions(vocabulary)))
    gradients, scores = task.learn(adapter, drawn)
    assert len(scores) == 2
    for (name, tensor), gradient in zip(adapter.items(), gradients, strict=True):
        step = 1e-3 * gradient / gradient.norm()
        ends = [float(task.loss({**adapter, name: tensor + way * step}, drawn)[0]) for way in (1, -1)]
        assert (ends[0] - ends[1]) / 2e-3 == pytest.approx(float(gradient.norm()), rel=0.1, abs=0.02)


def test_an_adapter_learns(vocabulary):
    task, drawn = Small(vocabulary), Drawn(0, True, pack(two_regions(vocabulary)))
    adapter = task.begin()
    optimiser = torch.optim.Adam(adapter.values(), lr=0.01)
    losses = []
    for _ in range(30):
        gradients, scores = task.learn(adapter, drawn)
        losses.append(sum(each.loss for each in scores))
        for tensor, gradient in zip(adapter.values(), gradients, strict=True):
            tensor.grad = gradient
        optimiser.step()
    assert losses[-1] < 0.7 * losses[0]
    assert means(task.judge(adapter, drawn))["first"] == 1.0
