"""Masked-diffusion families on stock backbones, against the library's own forward pass and on a planted task."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Publish, trained
from jobs import limited, states
from torch import Tensor, nn
from toy import LANGUAGE, PAIRS, answer, share_right, sides

from infill_engine import Deadline, Engine, InfillRequest
from infill_engine.budget.work import Budget, OutOfTime, finished
from infill_engine.diagnostics import masked
from infill_engine.diagnostics.masked import MASK, PUBLISHED, STOCK, reference, stock_network
from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import Context
from infill_engine.models.canvas.canvas import State, lay_out
from infill_engine.models.kv_cache.layers import LayerMemory, Remembered
from infill_engine.models.loading import load_canvas_model
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, Shift
from infill_engine.models.published.kinds.dual_cache import MOST_DRIFT, NEAR, REFERENCE
from infill_engine.models.stock.decoder import Backbone
from infill_engine.sampling.denoising.constraints import constraints_for
from infill_engine.sampling.denoising.denoise import Row, Task, TimeFrame, denoise
from infill_engine.settings import EngineSettings, ModelSettings, SamplerSettings
from infill_engine.types import Draft, Hole, HoleKind

EXACT = ModelSettings(dtype="float32")
REUSED = replace(EXACT, reuse_context=True)
SOME_PAIRS = PAIRS[::5]
BEFORE, BEHIND = "x = [1:", ":2]\nfor i in range(10):\n"
PLAIN = "qvwxkzj"  # a token a letter

every_family = pytest.mark.parametrize("name", PUBLISHED)


def loaded(folder: Path, settings: ModelSettings = EXACT) -> BidirectionalModel:
    family = load_canvas_model(str(folder), "cpu", settings)
    assert isinstance(family, BidirectionalModel)
    return family


@pytest.fixture(scope="module")
def families(publish: Publish) -> Callable[[str], tuple[BidirectionalModel, nn.Module]]:
    """A random family, loaded from its files, and the network that was written there."""
    made: dict[str, tuple[BidirectionalModel, nn.Module]] = {}

    def family(name: str) -> tuple[BidirectionalModel, nn.Module]:
        if name not in made:
            network = stock_network(PUBLISHED[name].stock)
            made[name] = loaded(publish(name, network)), network
        return made[name]

    return family


@pytest.fixture(scope="module")
def planted(publish: Publish) -> Callable[[str], Path]:
    """The folder of a family that has learnt the toy language."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = publish(name, trained(PUBLISHED[name].stock, PUBLISHED[name].shift))
        return made[name]

    return folder


def predictions(family: BidirectionalModel, rows: list[int | list[int]], text: tuple[str, str]) -> Tensor:
    canvas = lay_out(rows, family.info.mask_id)
    return family.denoise(finished(family.encode(*text)), HoleKind.LINE, canvas, np.arange(canvas.slots))


@every_family
def test_logits_are_those_of_the_reference(name: str, families: Callable[[str], Any]) -> None:
    family, network = families(name)
    rows: list[list[int]] = [[MASK] * 3, [70, MASK, 71, MASK, MASK, 72, MASK, MASK, MASK], [MASK]]
    expected = torch.cat([reference(name, network, row, (BEFORE, BEHIND)) for row in rows])
    torch.testing.assert_close(predictions(family, list(rows), (BEFORE, BEHIND)), expected, atol=1e-4, rtol=1e-4)


@every_family
@pytest.mark.parametrize("text", [("x", ""), (BEFORE * 40, BEHIND * 30)])
def test_logits_with_little_and_with_much_around(
    name: str, text: tuple[str, str], families: Callable[[str], Any]
) -> None:
    family, network = families(name)
    expected = reference(name, network, [MASK] * 4, text)
    if len(text[0]) > 1:
        assert len(finished(family.encode(*text)).state.prefix) <= EXACT.prefix_tokens + 1
        family = BidirectionalModel(
            family._description,
            family._backbone,
            family.vocabulary,
            replace(EXACT, prefix_tokens=4096, suffix_tokens=4096),
        )
    torch.testing.assert_close(predictions(family, [4], text), expected, atol=1e-4, rtol=1e-4)


@every_family
def test_an_empty_file_has_an_answer(name: str, families: Callable[[str], Any]) -> None:
    family, _ = families(name)
    assert torch.isfinite(predictions(family, [2], ("", ""))).all()


@every_family
def test_rows_do_not_see_each_other(name: str, families: Callable[[str], Any]) -> None:
    family, _ = families(name)
    rows: list[int | list[int]] = [3, 11, [70, 71], 1]
    together = predictions(family, rows, (BEFORE, BEHIND))
    alone = torch.cat([predictions(family, [row], (BEFORE, BEHIND)) for row in rows])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


@every_family
def test_given_slots_never_change(name: str, families: Callable[[str], Any]) -> None:
    family, _ = families(name)
    canvas, hole = lay_out([6, 6], family.info.mask_id), Hole(HoleKind.LINE)
    for position, token in ((2, 70), (8, 71)):
        canvas.ids[position], canvas.state[position] = token, State.FIXED
    context, rules = finished(family.encode(BEFORE, BEHIND)), constraints_for(family, hole, canvas, "")
    rows, budget = [Row(6), Row(6)], Budget.unlimited()
    for step in states(
        denoise(family, Task(context, hole.kind, canvas, rows, rules), SamplerSettings(), TimeFrame(budget))
    ):
        assert step.canvas.ids[step.canvas.state == State.FIXED].tolist() == [70, 71]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("some/qwen3-bd3lm", "models--some--qwen3-bd3lm/snapshots/0f1e2d"),
        ("qwen3-BD3LM-v0.1", "qwen3-BD3LM-v0.1"),
    ],
)
def test_one_that_writes_block_by_block_is_known_by_its_name(name: str, path: str, tmp_path: Path) -> None:
    folder = tmp_path / path
    folder.parent.mkdir(parents=True, exist_ok=True)
    masked.publish("a2d-qwen3", stock_network("qwen3"), folder)
    with pytest.raises(ModelDamagedError, match=f"{name} was trained to write block after block.*an mdlm"):
        load_canvas_model(str(folder), "cpu", EXACT)
    other = folder.rename(tmp_path / "bd3lm-and-mdlm-side-by-side")
    (tmp_path / "bd3lm").mkdir()
    assert loaded(other.rename(tmp_path / "bd3lm" / "mdlm")).info.name == "a2d-qwen3"


def test_a_probe_is_asked_for_and_remembered(families: Callable[[str], Any]) -> None:
    family, _ = families("dream")
    with pytest.raises(OutOfTime):
        limited(family.encode("probe", "me"), 0)
    assert finished(family.encode("probe", "me")).encoded > 0
    assert finished(family.encode("probe", "me")).encoded == 0


def at_once(family: BidirectionalModel, before: str, behind: str) -> str | None:
    """Both slots of a hole of two, in one step: no loop that could mend anything."""
    return family.vocabulary.decode(predictions(family, [2], (before, behind)).argmax(-1).tolist())


@every_family
def test_the_planted_task_is_solved_and_only_with_the_right_shift_and_mask(
    name: str, planted: Callable[[str], Path]
) -> None:
    family = loaded(planted(name), replace(EXACT, probe_lengths=False))
    assert share_right(partial(at_once, family)) >= 0.95
    other = Shift.NONE if PUBLISHED[name].shift else Shift.RIGHT
    shifted = BidirectionalModel(
        replace(family._description, shift=other), family._backbone, family.vocabulary, family._settings
    )
    assert share_right(partial(at_once, shifted), SOME_PAIRS) < 0.2
    see = family._backbone.states

    def see_left(ids: Tensor, places: Tensor, visible: Tensor, memory: Any = None) -> Tensor:
        return see(ids, places, visible & (places[:, None, None, :] <= places[:, None, :, None]), memory)

    family._backbone.states = see_left  # type: ignore[method-assign]
    assert share_right(partial(at_once, family), SOME_PAIRS) < 0.2


def engine(folder: Path, settings: ModelSettings = EXACT) -> Engine:
    short = replace(settings, prefix_tokens=64, suffix_tokens=64)  # the warm-up's text is longer than the tests' are
    return Engine.load(str(folder), device="cpu", settings=EngineSettings(model=short))


def first_candidate(engine: Engine, before: str, behind: str) -> str | None:
    found = engine.infill(InfillRequest(before, behind, LANGUAGE, drafts=()), Deadline.after_ms(60_000))
    return found[0].text if found else None


@every_family
def test_the_whole_engine_answers_with_it(name: str, planted: Callable[[str], Path]) -> None:
    engines = [engine(planted(name)) for _ in range(2)]
    assert share_right(partial(first_candidate, engines[0]), SOME_PAIRS) >= 0.95
    requests = [InfillRequest(*sides(*pair), LANGUAGE, drafts=(Draft("kx", 5),)) for pair in SOME_PAIRS[:4]]
    answers = [[each.infill(request, Deadline.after_ms(60_000)) for request in requests] for each in engines]
    assert answers[0] == answers[1]


def reusing(family: BidirectionalModel, **more: Any) -> BidirectionalModel:
    """A family on the same network that has read nothing yet and reuses what it reads."""
    return BidirectionalModel(
        family._description, family._backbone, family.vocabulary, replace(family._settings, reuse_context=True, **more)
    )


def typed(family: BidirectionalModel, before: str, behind: str, number: int) -> Context:
    """The context of two sides, the last `number` characters of the first typed one after the other."""
    for length in range(len(before) - number, len(before)):
        finished(family.encode(before[:length], behind))
    return finished(family.encode(before, behind))


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@every_family
def test_reusing_the_context_costs_little_accuracy(name: str, number: int, planted: Callable[[str], Path]) -> None:
    exact = loaded(planted(name), replace(EXACT, probe_lengths=False))
    open_slots, decided, right = [], [], []
    for pair in SOME_PAIRS:
        (before, behind), token = sides(*pair), exact.vocabulary.encode(answer(*pair))
        family = reusing(exact)
        contexts = finished(exact.encode(before, behind)), typed(family, before, behind, number)
        canvas = lay_out([2, 4], exact.info.mask_id)
        for start, differences in enumerate((open_slots, decided)):
            one, other = (
                torch.softmax(each.denoise(context, HoleKind.LINE, canvas, np.arange(6)), -1)
                for each, context in zip((exact, family), contexts, strict=True)
            )
            differences.append(float((one - other).abs().sum(-1).mean()) / 2)
            right.append(other[start:2].argmax(-1).tolist() == token[start:])
            canvas.ids[[0, 2]] = token[0]
    # Of the probability, on average, is elsewhere.
    assert 0 < np.mean(open_slots) < 0.05, np.mean(open_slots)
    assert 0 < np.mean(decided) < 0.15, np.mean(decided)
    assert np.mean(right) >= 0.95


@every_family
def test_the_whole_engine_answers_with_a_reused_context(name: str, planted: Callable[[str], Path]) -> None:
    usual_lengths = replace(REUSED, probe_lengths=False)
    assert share_right(partial(first_candidate, engine(planted(name), usual_lengths)), SOME_PAIRS) >= 0.95


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_type": "default"},
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
        {"rope_type": "yarn", "factor": 4.0},  # scales what it rotates, too
    ],
)
@pytest.mark.parametrize("stock", STOCK)
def test_keys_that_are_moved_on_are_those_computed_there(stock: str, scaling: dict[str, Any]) -> None:
    rope = {"rope_theta": 5000.0, "original_max_position_embeddings": 1024} | scaling
    backbone = Backbone(stock_network(stock, rope_parameters=rope), "cpu")
    ids = torch.arange(60, 70)[None]

    def layers(first: int) -> list[LayerMemory]:
        memory = Remembered()
        backbone.states(ids, torch.arange(first, first + 10)[None], torch.ones(1, 1, 10, 10, dtype=torch.bool), memory)
        return memory.layers

    here = layers(200)
    for by in (-7, 1, 64):
        for (keys, _), (expected, _) in zip(here, layers(200 + by), strict=True):
            torch.testing.assert_close(backbone.moved(keys, by), expected, atol=1e-4, rtol=1e-4)
            assert float((keys - expected).abs().max()) > 0.1


@every_family
def test_a_usual_row_over_a_context_just_read_is_exact(name: str, families: Callable[[str], Any]) -> None:
    exact, _ = families(name)
    for text in ((BEFORE, BEHIND), (BEFORE * 6, BEHIND * 6), ("", "")):
        expected = predictions(exact, [REFERENCE], text)
        torch.testing.assert_close(predictions(reusing(exact), [REFERENCE], text), expected, atol=1e-4, rtol=1e-4)
    family = reusing(exact)
    little = PLAIN, PLAIN[:5]  # all of it so near the hole that it is read again with what is typed
    assert len(PLAIN) < NEAR
    typed(family, *little, 4)
    expected = predictions(exact, [REFERENCE], little)
    torch.testing.assert_close(predictions(family, [REFERENCE], little), expected, atol=1e-4, rtol=1e-4)


@every_family
def test_reusing_a_context_is_exact_where_keys_rest_on_nothing_but_their_token(
    name: str, families: Callable[[str], Any]
) -> None:
    """A single layer's keys and values do: what is left to go wrong are places, columns, and who sees which."""
    two_layers, _ = families(name)
    backbone = Backbone(stock_network(PUBLISHED[name].stock, num_hidden_layers=1), "cpu")
    exact = BidirectionalModel(two_layers._description, backbone, two_layers.vocabulary, EXACT)
    family = reusing(exact)
    rows: list[int | list[int]] = [3, [70, MASK, 71, 72, MASK], 1, 3, 17]
    before, behind = BEFORE * 8 + PLAIN * 4, BEHIND * 3
    typed(family, before, behind, 40)
    for prefix in (before, before[:-30], before[:-20] + "y", before[:-20] + "y" * 50):
        for suffix in (behind, "", BEHIND):
            expected = predictions(exact, rows, (prefix, suffix))
            torch.testing.assert_close(predictions(family, rows, (prefix, suffix)), expected, atol=1e-4, rtol=1e-4)


@every_family
def test_rows_over_a_reused_context_do_not_see_each_other(name: str, families: Callable[[str], Any]) -> None:
    family = reusing(families(name)[0])
    rows: list[int | list[int]] = [3, 11, [70, 71], 3, 1]
    together = predictions(family, rows, (BEFORE * 4, BEHIND * 4))
    alone = torch.cat([predictions(family, [row], (BEFORE * 4, BEHIND * 4)) for row in rows])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["dream", "a2d-qwen3"])
def test_a_context_is_read_as_a_whole_where_too_much_has_changed(name: str, families: Callable[[str], Any]) -> None:
    exact, _ = families(name)
    before, behind, end = PLAIN * 20, PLAIN * 4, "y" * MOST_DRIFT

    def is_as_new(family: BidirectionalModel, before: str, behind: str) -> bool:
        new = predictions(reusing(exact), [4], (before, behind))
        return bool(torch.allclose(predictions(family, [4], (before, behind)), new, atol=1e-5))

    family = reusing(exact)
    typed(family, before + end, behind, MOST_DRIFT)
    assert not is_as_new(family, before + end, behind)
    assert is_as_new(family, before + end + "z", behind)
    for changed in ((before, behind + "z"), (before[: -MOST_DRIFT - 1], behind), ("z" + before, behind)):
        family = reusing(exact)
        finished(family.encode(before, behind))
        assert is_as_new(family, *changed)
    family = reusing(exact)
    finished(family.encode(before, behind))
    assert not is_as_new(family, before[:-MOST_DRIFT], behind)


@every_family
def test_a_keystroke_costs_a_tenth_of_a_long_context_and_what_is_counted(
    name: str, families: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    family = reusing(families(name)[0], prefix_tokens=1664, suffix_tokens=384)
    compute, computed = family._backbone.states, []

    def counted(ids: Tensor, *more: Any) -> Tensor:
        computed.append(ids.numel())
        return compute(ids, *more)

    monkeypatch.setattr(family._backbone, "states", counted)
    before, behind = (PLAIN * 300)[:1663], (PLAIN * 60)[:384]
    cold, asked = finished(family.encode(before, behind)), []
    assert cold.tokens >= 2047
    assert cold.encoded == sum(computed)
    computed.clear()
    warm = limited(family.encode(before + "v", behind), 9, asked)
    assert warm.encoded == sum(computed) == sum(asked) <= 0.1 * cold.encoded
    assert finished(family.encode(before + "v", behind)).encoded == 0
    computed.clear()
    canvas = lay_out([3, 9], family.info.mask_id)
    family.denoise(warm, HoleKind.LINE, canvas, np.arange(12))
    assert computed == [family.step_size(warm, [3, 9], 0)] == [24]


def test_a_context_that_was_read_stays_where_no_time_is_left_to_ask_about_it(families: Callable[[str], Any]) -> None:
    family = reusing(families("dream")[0])
    asked: list[int] = []

    with pytest.raises(OutOfTime):
        limited(family.encode(BEFORE, BEHIND), 0)
    with pytest.raises(OutOfTime):
        limited(family.encode(BEFORE, BEHIND), 1, asked)
    assert len(asked) == 2
    assert finished(family.encode(BEFORE, BEHIND)).encoded == asked[1]


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_dreamon_finds_the_length_by_itself(slots: int, planted: Callable[[str], Path]) -> None:
    family = loaded(planted("dreamon"))
    hole, settings = Hole(HoleKind.EXPRESSION), SamplerSettings(max_steps=8)

    def fill(before: str, behind: str) -> str | None:
        canvas = lay_out([slots], family.info.mask_id)
        context, rules = finished(family.encode(before, behind)), constraints_for(family, hole, canvas, "")
        job = denoise(
            family, Task(context, hole.kind, canvas, [Row(slots)], rules), settings, TimeFrame(Budget.unlimited())
        )
        steps = list(states(job))
        assert len(steps[-1].predicted) == steps[-1].canvas.slots == steps[-1].canvas.lengths.sum()
        return family.vocabulary.decode(steps[-1].canvas.ids.tolist())

    assert share_right(fill, SOME_PAIRS) >= 0.95
