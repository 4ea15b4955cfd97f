"""Examples for the trunk's adapter: they are laid out as prompts are served, and holes do not see each other."""

import random
import sys
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny_trunk import tiny_model
from train.trunk.data import ExampleSettings, HoleExample, Window, draw_window, lay_out
from train.trunk.snippets import File, Heads

from infill_engine.budget.work import finished
from infill_engine.models.trunk.backends.torch_products import FloatProducts
from infill_engine.models.trunk.network import UNSEEN, attention, forward, normed
from train.trunk.frozen import FrozenLinear
from train.trunk.network import _of_rank, learned_states, read_context

TEXT = "".join(
    f"class Box{n}:\n    def __init__(self, width, height):\n"
    "        self.width = width\n        self.height = height\n\n"
    f"    def area(self):\n        return self.width * self.height + {n}\n\n"
    for n in range(12)
)


@pytest.fixture
def model(tmp_path):
    return tiny_model(tmp_path)


def trained_logits(model, window):
    laid, network = lay_out(window), model.backend.network
    with torch.inference_mode():
        states = learned_states(network, laid, read_context(network, laid))
        return torch.log_softmax(network.logits(normed(network, states)), -1), laid.targets


def hole(model, above, line, text, suffix):
    """An example as `draw_window` makes it, for a place that is given."""
    vocabulary = model.vocabulary
    so_far, word = vocabulary.split_partial_word(line)
    tokens = vocabulary.encode(word + text)
    middle = [vocabulary.fim.middle, *vocabulary.encode(so_far), *tokens, vocabulary.fim.end]
    context = [vocabulary.fim.suffix, *vocabulary.encode(suffix)]
    return HoleExample(1 + len(vocabulary.encode(above)), context, middle, len(tokens) + 1, "line")


def test_serving_computes_what_was_trained(model):
    lines = TEXT.splitlines(keepends=True)
    above, later = "".join(lines[:3]), "".join(lines[:7])
    one = hole(model, above, "        self.he", "ight = height", "\n\n    def area(self):\n")
    other = hole(model, later, "        return self", ".width", " * self.height\n")
    window = Window([model.vocabulary.fim.prefix, *model.vocabulary.encode(later)], [one, other])
    logprobs, targets = trained_logits(model, window)
    start = 0
    for example, prefix, suffix in (
        (one, above + "        self", "\n\n    def area(self):\n"),
        (other, later + "        return", " * self.height\n"),
    ):
        tokens = targets[start : start + example.learned].tolist()
        reading = finished(model.read(model.prompt(prefix, suffix)))
        parents = [[~before for before in range(at)] for at in range(len(tokens) - 1)]
        after, _ = reading.run_pass(tokens[:-1], range(len(tokens) - 1), parents)
        served = torch.stack([torch.from_numpy(one.logprobs) for one in (reading.after_prompt(), *after)])
        torch.testing.assert_close(logprobs[start : start + example.learned], served, atol=1e-4, rtol=1e-3)
        start += example.learned


def test_holes_of_a_window_do_not_see_each_other(model):
    window = draw_window(TEXT, "python", model.vocabulary, ExampleSettings(holes=4), random.Random(3))
    assert len(window.holes) == 4
    together, _ = trained_logits(model, window)
    alone = [trained_logits(model, Window(window.prefix, [example]))[0] for example in window.holes]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-4, rtol=1e-3)


def test_attention_with_gradients_equals_the_fused_one(model):
    window = draw_window(TEXT, "python", model.vocabulary, ExampleSettings(holes=4), random.Random(3))
    laid, network = lay_out(window), model.backend.network
    with torch.no_grad():
        read = read_context(network, laid)
        fused = learned_states(network, laid, read)
    with torch.enable_grad():
        torch.testing.assert_close(learned_states(network, laid, read), fused, atol=1e-5, rtol=1e-4)


def test_what_is_learned_is_the_hole_and_its_end(model):
    window = draw_window(TEXT, "python", model.vocabulary, ExampleSettings(holes=8), random.Random(5))
    laid = lay_out(window)
    start = 0
    for example in window.holes:
        targets = laid.targets[start : start + example.learned].tolist()
        assert targets[-1] == model.vocabulary.fim.end
        text = model.vocabulary.decode(targets[:-1])
        assert text
        assert text.strip() in TEXT
        start += example.learned


def test_equal_seeds_draw_equal_windows(model):
    drawn = [draw_window(TEXT, "python", model.vocabulary, ExampleSettings(), random.Random(7)) for _ in range(2)]
    assert drawn[0] == drawn[1]


MATRIX, BIAS = torch.randn(96, 64, generator=torch.Generator().manual_seed(0)), torch.linspace(-1, 1, 96)
HALF = FloatProducts("cpu", torch.bfloat16)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_frozen_matrix_passes_gradients_on_and_only_its_low_rank_term_learns(dtype):
    torch.manual_seed(0)
    linear = FrozenLinear(FloatProducts("cpu", dtype).of(MATRIX, BIAS), (96, 64), rank=4)
    x = torch.randn(8, 64, dtype=dtype, requires_grad=True)
    wanted = torch.randn(8, 96)
    exact = x.float() @ MATRIX.t() + BIAS
    torch.testing.assert_close(linear(x).float(), exact, atol=0.8, rtol=0.1)
    ((linear(x) - wanted) ** 2).sum().backward()
    gradient = 2 * (exact - wanted) @ MATRIX
    assert torch.nn.functional.cosine_similarity(x.grad.float().flatten(), gradient.flatten(), 0) > 0.995
    assert linear.up.grad.abs().sum() > 0
    assert {name for name, _ in linear.named_parameters()} == {"down", "up"}


def test_a_term_of_higher_rank_is_approximated_as_well_as_can_be():
    torch.manual_seed(0)
    linear = FrozenLinear(HALF.of(torch.randn(40, 30)), (40, 30), rank=8)
    with torch.no_grad():
        linear.up.copy_(torch.randn(40, 8) * torch.tensor([9.0, 8, 7, 6, 0.1, 0.1, 0.1, 0.1]))
        exact = linear.up @ linear.down * linear.scale
    for rank, most in ((8, 1e-5), (4, 0.1)):
        up, down = map(torch.from_numpy, _of_rank(linear, rank))
        assert up.shape == (40, rank)
        assert (up @ down - exact).norm() <= most * exact.norm()


USE = "from box.shapes import Box3\n" + "".join(
    f"\n\ndef use{n}(box):\n    made = Box3(box.width, box.height)\n    return made.area()\n" for n in range(12)
)
FILES = [
    File(TEXT, "python", "box", "box/shapes.py"),
    File(USE, "python", "box", "box/use.py"),
    File("def elsewhere(width, height):\n    return Box3(width, height)\n" * 9, "python", "other", "other/more.py"),
]


def drawn_with_head(model, with_snippets, file=FILES[1], seed=1):
    rng = random.Random(seed)
    head_of = Heads(FILES, model.vocabulary, with_snippets).of(file, rng)
    return draw_window(file.text, "python", model.vocabulary, ExampleSettings(), rng, head_of)


def head_text(model, window):
    head = window.prefix[: window.prefix.index(model.vocabulary.fim.prefix)]
    return "".join("§" if token == model.vocabulary.fim.file else model.vocabulary.decode([token]) for token in head)


def test_heads_hold_snippets_of_the_same_package_and_the_own_path(model):
    text = head_text(model, drawn_with_head(model, 1.0))
    assert "§box/shapes.py\n" in text
    assert "other" not in text
    assert text.endswith("§box/use.py\n")


def test_some_windows_have_no_snippets_and_some_no_head_at_all(model):
    found = {head_text(model, drawn_with_head(model, 0.0, seed=seed)) for seed in range(9)}
    assert found == {"", "§box/use.py\n"}


def test_the_window_itself_is_not_in_its_head(model):
    alone = File(FILES[1].text, "python", "alone", "alone/use.py")
    heads = Heads([alone], model.vocabulary, 1.0)
    window = draw_window(
        alone.text, "python", model.vocabulary, ExampleSettings(), random.Random(0), heads.of(alone, random.Random(0))
    )
    assert head_text(model, window) == "§alone/use.py\n"


def test_serving_with_a_head_computes_what_was_trained(model):
    window = drawn_with_head(model, 1.0)
    logprobs, targets = trained_logits(model, window)
    hole, head = window.holes[0], window.prefix[: window.prefix.index(model.vocabulary.fim.prefix)]
    tokens = [*window.prefix[: hole.above], *hole.context, *hole.middle[:-1]]
    network = model.backend.network
    with torch.inference_mode():
        mask = torch.full((len(tokens), len(tokens)), UNSEEN).triu(1)
        states = forward(
            network,
            network.embed(torch.tensor(tokens)),
            torch.arange(len(tokens)),
            lambda _layer, *each: attention(*each, mask),
        )
        plain = torch.log_softmax(network.logits(normed(network, states)), -1)[-hole.learned :]
    assert len(head) > 20
    assert targets[: hole.learned].tolist() == hole.middle[-hole.learned :]
    torch.testing.assert_close(logprobs[: hole.learned], plain, atol=1e-4, rtol=1e-3)
