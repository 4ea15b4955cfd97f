"""A copy of a tiny model is trained on a few files: it learns them, keeps its best look, and leaves the base alone."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from infill_engine.errors import InputError
from infill_engine.models.duostream.weights import load_network, load_project
from infill_engine.models.folder import verify
from infill_engine.train.adapt import AdaptSettings, Moment, adapt, pack, save
from infill_engine.train.data import Part

SOURCE = Path(__file__).parents[3] / "infill_engine"
SETTINGS = AdaptSettings(windows=1, peak=1.0, looks=4, judged_windows=4)


def texts(folder: str) -> list[tuple[str, str]]:
    return [(path.read_text(), "python") for path in sorted((SOURCE / folder).rglob("*.py"))]


@pytest.fixture(scope="module")
def parts(model_folder: Path) -> tuple[Part, Part]:
    return pack(texts("sampler"), model_folder), pack(texts("canvas"), model_folder)


def steps() -> Callable[[], float]:
    """A clock that every look at it moves on."""
    count = itertools.count()
    return lambda: float(next(count))


def test_it_learns(model_folder: Path, parts: tuple[Part, Part], tmp_path: Path) -> None:
    moments: list[Moment] = []
    done = adapt(model_folder, *parts, 100, moments.append, settings=SETTINGS, device="cpu", clock=steps())
    assert done.loss_after < done.loss_before
    assert done.steps == len(moments) > 20
    assert done.tokens == moments[-1].tokens
    assert len({moment.held_out for moment in moments}) == SETTINGS.looks + 1
    save(done, parts[0], model_folder, tmp_path)
    verify(tmp_path)
    assert (tmp_path / "tokenizer.json").read_bytes() == (model_folder / "tokenizer.json").read_bytes()
    counts = load_project(tmp_path)
    context, token = parts[0].tokens[:2].tolist(), parts[0].tokens[2:3]
    assert counts is not None
    assert counts.logprob(context, token, -5.0) > -5.0
    saved = load_network(tmp_path)
    for name, tensor in done.network.state_dict().items():
        torch.testing.assert_close(saved.state_dict()[name], tensor, rtol=0, atol=0.02 * float(tensor.abs().max()))


def test_a_rate_that_destroys_leaves_the_base_as_it_was(model_folder: Path, parts: tuple[Part, Part]) -> None:
    wild = AdaptSettings(windows=1, peak=3_000, warmup_steps=1, looks=2, judged_windows=2)
    done = adapt(model_folder, *parts, 16, settings=wild, device="cpu", clock=steps())
    assert done.steps > 1
    assert done.loss_after == done.loss_before
    base = load_network(model_folder).state_dict()
    assert all(torch.equal(tensor, base[name]) for name, tensor in done.network.state_dict().items())


def test_on_a_machine_that_is_too_slow_there_is_one_step_all_the_same(
    model_folder: Path, parts: tuple[Part, Part]
) -> None:
    assert adapt(model_folder, *parts, 1, settings=SETTINGS, device="cpu", clock=steps()).steps == 1


def test_equal_runs_are_equal(model_folder: Path, parts: tuple[Part, Part]) -> None:
    one, other = (
        adapt(model_folder, *parts, 12, settings=SETTINGS, device="cpu", clock=steps()).loss_after for _ in range(2)
    )
    assert one == other


def test_small_parts_have_small_windows(model_folder: Path, parts: tuple[Part, Part]) -> None:
    learned, held_out = parts
    few = Part(held_out.tokens[:250], held_out.holes[held_out.holes[:, 1] < 250])
    assert adapt(model_folder, learned, few, 8, settings=SETTINGS, device="cpu", clock=steps()).steps


def test_too_little_is_said(model_folder: Path, parts: tuple[Part, Part]) -> None:
    little = pack([("x = 1\n", "python")], model_folder)
    for learned, held_out in ((little, parts[1]), (parts[0], little)):
        with pytest.raises(InputError, match="too little to learn from"):
            adapt(model_folder, learned, held_out, 1, device="cpu")


def test_other_languages_have_holes_of_their_own_syntax(model_folder: Path) -> None:
    text = "function area(width, height) {\n  return width * height + other(width, [1, 2, 3]);\n}\n" * 20
    assert len(pack([(text, "javascript")], model_folder).holes) > 5
    assert len(pack([("x = 1\n" * 50, "python"), (text, "javascript")], model_folder).tokens) > 500
