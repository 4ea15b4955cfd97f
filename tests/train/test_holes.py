"""Holes: drawn as people type, laid out as prompts are served, not seeing each other, and exported for serving."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny import base_of, frozen_trunk
from tiny_trunk import tiny_model

from infill_engine.budget.work import finished
from infill_engine.models.trunk.prompt import build_prompt
from infill_engine.types import HoleKind
from train.corpus.holes import Span
from train.holes.examples import ExampleSettings, Window, draw_window, lay_out, window_of
from train.holes.snippets import File, Heads
from train.holes.task import Holes, _sum
from train.holes.typing import BLOCK, MISTYPED, Place, mistype, typed

TEXT = "".join(
    f"class Box{n}:\n    def __init__(self, width, height):\n"
    "        self.width = width\n        self.height = height\n\n"
    f"    def area(self):\n        return self.width * self.height + {n}\n\n"
    for n in range(12)
)
EXACT = ExampleSettings(window_chars=500, mistyped=0.0)  # most of the tiny tokenizer's tokens are single bytes


@pytest.fixture
def model(tmp_path):
    return tiny_model(tmp_path)


@pytest.mark.parametrize(
    ("marked", "place", "text"),
    [
        pytest.param("total = wid|th * 2\n", Place.WORD, "th * 2", id="word"),
        pytest.param("area(|width, height)\n", Place.BRACKET, "width, height)", id="bracket"),
        pytest.param("if wide:\n    |return width\n", Place.LINE, "return width", id="line"),
        pytest.param("total = |width * 2\n", Place.OTHER, "width * 2", id="elsewhere"),
        pytest.param("if wide:\n    |one()\n    two()\n", BLOCK, "one()\n    two()", id="block"),
    ],
)
def test_where_people_stop(marked, place, text, monkeypatch):
    monkeypatch.setattr("train.holes.typing.CLOSED", 0.0)
    start = marked.index("|")
    window = marked.replace("|", "")
    span = Span(start, start + len(text), HoleKind.LINE)
    (found,) = typed(window, [span], 0.0, random.Random(0))
    assert (found.kind, found.text, found.before + found.text + found.after) == (place, text, window)


def test_a_bracket_that_the_editor_closed_has_nothing_behind_it(monkeypatch):
    monkeypatch.setattr("train.holes.typing.CLOSED", 1.0)
    window = "one(two(a), b) + three\nfour\n"
    (found,) = typed(window, [Span(4, 22, HoleKind.LINE)], 0.0, random.Random(0))
    assert (found.before, found.text, found.after) == ("one(", "two(a), b", ")\nfour\n")


def test_a_word_near_the_cursor_is_mistyped_and_the_one_at_it_is_not():
    before = "elsewhere = 1\nwidth = 2\ntotal = wid"
    found = {mistype(before, random.Random(seed)) for seed in range(30)}
    assert len(found) > 4
    for each in found:
        assert each.startswith("elsewhere = 1\n")
        assert each.endswith(" = wid")
        assert abs(len(each) - len(before)) <= 1
    window, span = before + "th\n", Span(len(before), len(before) + 2, HoleKind.LINE)
    (one,) = typed(window, [span], 1.0, random.Random(0))
    assert (one.kind, one.text) == (MISTYPED, "th")
    assert mistype("x = ", random.Random(0)) == "x = "


def task_of(model) -> Holes:
    """The task with the tiny model's trunk."""
    return Holes(base_of(frozen_trunk(model.backend.network.config)), model.vocabulary, 2)


def test_serving_computes_what_was_learned(model):
    vocabulary = model.vocabulary
    lines = TEXT.splitlines(keepends=True)
    places = [
        ("".join(lines[:3]) + "        self.he", "ight = height", "\n\n    def area(self):\n"),
        ("".join(lines[:7]) + "        return self", ".width", " * self.height\n"),
    ]
    holes = []
    for prefix, text, suffix in places:
        before, word = vocabulary.split_partial_word(prefix)
        prompt = build_prompt(vocabulary, before, suffix, (7, 8))
        holes.append((prompt, [*vocabulary.encode(word + text), vocabulary.fim.end], "word"))
    losses = [score.loss for score in task_of(model).judge({}, lay_out(window_of(holes)))]
    for (prompt, tokens, _), loss in zip(holes, losses, strict=True):
        reading = finished(model.read(prompt))
        parents = [[~before for before in range(at)] for at in range(len(tokens) - 1)]
        after, _ = reading.run_pass(tokens[:-1], range(len(tokens) - 1), parents)
        served = [one.logprobs[token] for one, token in zip((reading.after_prompt(), *after), tokens, strict=True)]
        assert loss == pytest.approx(-sum(map(float, served)), rel=1e-3)


def drawn(model, seed=3, settings=EXACT, **options):
    window = draw_window(TEXT, "python", model.vocabulary, settings, random.Random(seed), **options)
    assert window is not None
    return window


def test_holes_of_a_window_do_not_see_each_other(model):
    window, task = drawn(model), task_of(model)
    assert len(window.holes) > 4
    together = task.judge({}, lay_out(window))
    alone = [task.judge({}, lay_out(Window(window.shared, [hole])))[0] for hole in window.holes]
    assert [each.loss for each in together] == pytest.approx([each.loss for each in alone], rel=1e-3)


def test_what_is_learned_is_a_hole_and_its_end(model):
    for hole in drawn(model, 5).holes:
        *text, end = hole.middle[-hole.learned :]
        assert end == model.vocabulary.fim.end
        assert model.vocabulary.decode(text).strip() in TEXT


def test_equal_seeds_draw_equal_windows(model):
    assert drawn(model, 7, ExampleSettings(500)) == drawn(model, 7, ExampleSettings(500))


def test_a_hole_whose_prompt_begins_elsewhere_is_left_out(model):
    one, other = (
        (build_prompt(model.vocabulary, text, ""), [model.vocabulary.fim.end], "word")
        for text in ("a = 1\n" * 90, "b = 2\n" * 80)
    )
    window = window_of([one, other])
    assert [hole.above for hole in window.holes] == [max(len(one[0].prefix), len(other[0].prefix))]
    assert window_of([]) is None


def test_only_the_terms_are_learned_and_they_lower_the_loss(model):
    task, laid = task_of(model), lay_out(drawn(model))
    weights = task.begin()
    optimiser, losses = torch.optim.Adam(weights.values(), lr=0.01), []
    for _ in range(12):
        gradients, scores = task.learn(weights, laid)
        losses.append(sum(each.loss for each in scores))
        for tensor, gradient in zip(weights.values(), gradients, strict=True):
            tensor.grad = gradient
        optimiser.step()
    assert losses[-1] < 0.8 * losses[0]


USE = "from box.shapes import Box3\n" + "".join(
    f"\n\ndef use{n}(box):\n    made = Box3(box.width, box.height)\n    return made.area()\n" for n in range(12)
)
FILES = [
    File(TEXT, "python", "box", "box/shapes.py"),
    File(USE, "python", "box", "box/use.py"),
    File("def elsewhere(width, height):\n    return Box3(width, height)\n" * 9, "python", "other", "other/more.py"),
]


def head_text(model, files, with_snippets, file, seed=1):
    rng = random.Random(seed)
    head_of = Heads(files, model.vocabulary, with_snippets).of(file, rng)
    window = draw_window(file.text, "python", model.vocabulary, EXACT, rng, head_of)
    head = window.shared[: window.shared.index(model.vocabulary.fim.prefix)]
    return "".join("§" if token == model.vocabulary.fim.file else model.vocabulary.decode([token]) for token in head)


def test_heads_hold_snippets_of_the_same_package_and_the_own_path(model):
    text = head_text(model, FILES, 1.0, FILES[1])
    assert "§box/shapes.py\n" in text
    assert "other" not in text
    assert text.endswith("§box/use.py\n")


def test_some_windows_have_no_snippets_and_some_no_head_at_all(model):
    found = {head_text(model, FILES, 0.0, FILES[1], seed) for seed in range(9)}
    assert found == {"", "§box/use.py\n"}


def test_the_window_itself_is_not_in_its_head(model):
    alone = File(FILES[1].text, "python", "alone", "alone/use.py")
    assert head_text(model, [alone], 1.0, alone) == "§alone/use.py\n"


def test_terms_are_added_exactly_and_with_rows_of_similar_size():
    chance = np.random.default_rng(0)
    one, other = (
        (chance.normal(size=(40, 8)).astype(np.float32) * 1e-3, chance.normal(size=(8, 30)).astype(np.float32))
        for _ in range(2)
    )
    up, down = _sum(one, other)
    np.testing.assert_allclose(up @ down, one[0] @ one[1] + other[0] @ other[1], atol=1e-6)
    assert 0.5 < np.linalg.norm(up) / np.linalg.norm(down) < 2
