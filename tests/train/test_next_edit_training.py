"""The trainer of next edits: what a region teaches, and that a soft prompt learns it."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny_denoiser import TRUNK
from tiny_trunk import write_tokenizer

from infill_engine.models.trunk.prompt import Prompt, TrunkVocabulary
from infill_engine.sampling.trunk.diff_prompt import KNOWN, DiffPrompt, RegionLine
from train.next_edits.layout import INSERT, KEEP, REMOVE, LineChange, changes_in, lay_out
from train.next_edits.learning import Learner, summary
from train.next_edits.network import KEYS, VALUES, new_soft_prompt, states_of

START = (7, 8, 9)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory) -> TrunkVocabulary:
    return TrunkVocabulary(write_tokenizer(tmp_path_factory.mktemp("tokenizer")))


def prompt_of(vocabulary, *lines, known=()) -> DiffPrompt:
    made = [RegionLine(line, KNOWN if line in known else 0, tuple(vocabulary.encode(f" {line}\n"))) for line in lines]
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


def test_only_changes_of_whole_unknown_lines_count(vocabulary):
    prompt = prompt_of(vocabulary, "a", "mine", "b", known=("mine",))
    hunks = [(9, ["a"], []), (10, ["a"], ["x"]), (11, ["mine"], ["x"]), (12, ["b"], ["y"]), (12, ["other"], ["y"])]
    assert list(changes_in(prompt, 10, hunks)) == [LineChange(0, 1, ("x",)), LineChange(2, 1, ("y",))]


def test_a_soft_prompt_of_tokens_is_what_the_tokens_are(vocabulary):
    laid = lay_out(prompt_of(vocabulary, "a", "b"), [LineChange(1, 1, ("c",))], vocabulary)
    ids = laid.ids % TRUNK.config.vocabulary
    head = torch.tensor([3, 1, 4, 1])
    whole = torch.ones(len(head) + len(ids), len(head) + len(ids)).tril().bool()
    whole[len(head) :, len(head) :] = laid.seen
    nothing = {
        name: torch.zeros(TRUNK.config.layers, TRUNK.config.kv_heads, 0, TRUNK.config.head_dim)
        for name in (KEYS, VALUES)
    }
    together = replaced(laid, torch.cat([head, ids]), torch.cat([torch.arange(4), laid.positions + 4]), whole)
    expected = states_of(TRUNK, nothing, together)[len(head) :]
    found = states_of(TRUNK, new_soft_prompt(TRUNK, head), replaced(laid, ids, laid.positions, laid.seen))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-3)


def test_a_soft_prompt_learns(vocabulary):
    class Small(Learner):
        def __init__(self):
            self.trunk, self.vocabulary = TRUNK, vocabulary
            self._signs = [torch.arange(first, first + 8) for first in (0, 8, 16)]

    laid = lay_out(prompt_of(vocabulary, "a", "b"), [LineChange(1, 1, ("c",))], vocabulary)
    laid = replaced(laid, laid.ids % 60, laid.positions, laid.seen, laid.tokens % 60)
    learner, prompt = Small(), new_soft_prompt(TRUNK, torch.tensor([3, 1, 4, 1]))
    optimiser = torch.optim.Adam(prompt.values(), lr=0.1)
    losses = []
    for _ in range(30):
        gradients, _ = learner.learn(prompt, laid)
        losses.append(float(learner._loss(prompt, laid)[0]))
        for name, gradient in gradients.items():
            prompt[name].grad = gradient
        optimiser.step()
    assert losses[-1] < 0.7 * losses[0]
    assert "found first 1/1" in summary([learner.judge(prompt, laid)])


def replaced(laid, ids, positions, seen, tokens=None):
    rest = (laid.starts, laid.signs, laid.changed, laid.first_starts, laid.rows)
    return type(laid)(ids, positions, seen, *rest, laid.tokens if tokens is None else tokens)
