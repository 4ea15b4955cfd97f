"""DiffusionGemma against the library's own forward pass, on a synthetic task, and through the loop and the engine."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jobs import limited, states
from learnt_gemma import learnt_network
from torch import Tensor, nn
from toy import LANGUAGE, PAIRS, share_right, sides

from bench.families.diffusion_gemma import (
    TURN_END,
    VOCABULARY,
    new_network,
    publish,
    reference,
    scatter,
)
from infill_engine import Deadline, Engine, InfillRequest, load_engine
from infill_engine.budget.work import Costs, OutOfTime, finished
from infill_engine.errors import ModelDamagedError
from infill_engine.models.base import Context, Corruptor
from infill_engine.models.canvas.canvas import Canvas, State, lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.published.diffusion_gemma.model import DiffusionGemmaModel
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import Row, Step, Task, denoise
from infill_engine.settings import EngineSettings, ModelSettings, SamplerSettings
from infill_engine.types import Draft, Hole, HoleKind

EXACT = ModelSettings(dtype="fp32")
SOME_PAIRS = PAIRS[::5]
TEXT = ("x = [1:", ":2]\nfor i in range(10):\n")
LINE = Hole(HoleKind.LINE)


def loaded(folder: Path, settings: ModelSettings = EXACT) -> DiffusionGemmaModel:
    family = load_canvas_model(str(folder), "cpu", settings)
    assert isinstance(family, DiffusionGemmaModel)
    return family


@pytest.fixture(scope="module")
def network() -> nn.Module:
    made = new_network()
    scatter(made)
    return made


@pytest.fixture(scope="module")
def folder(network: nn.Module, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return publish(network, tmp_path_factory.mktemp("random"))


@pytest.fixture(scope="module")
def family(folder: Path) -> DiffusionGemmaModel:
    return loaded(folder)


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a network that has learnt the toy language."""
    return publish(learnt_network(), tmp_path_factory.mktemp("synthetic"))


def predictions(family: DiffusionGemmaModel, context: Context, rows: list[list[int]]) -> Tensor:
    canvas = lay_out(rows, family.info.mask_id)
    return family.denoise(context, canvas, np.arange(canvas.slots))


@pytest.mark.parametrize("text", [TEXT, ("", ""), ("x", ""), ("value = 1\n" * 12, "def f():\n" * 12)])
def test_logits_are_those_of_the_library(text: tuple[str, str], family: Any, network: nn.Module) -> None:
    rows = [[70, 71, 72], [70, 9, 71, 200, 300, 72, 80], [100]]
    context = finished(family.encode(*text))
    found = predictions(family, context, rows)
    expected = torch.cat([reference(network, row, text) for row in rows])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_logits_of_the_next_step_rest_on_those_of_the_last(family: Any, network: nn.Module) -> None:
    context, rows = finished(family.encode(*TEXT)), [[70, 71, 72], [70, 9, 71, 200, 300]]
    canvas = lay_out(rows, family.info.mask_id)
    first = torch.randn(8, VOCABULARY, generator=torch.Generator().manual_seed(1)) * 4
    wanted = np.array([0, 1, 2, 3, 4, 6, 7])  # slot 5 is given
    family.condition(context, canvas, wanted, first[wanted])
    first[5] = torch.full((VOCABULARY,), -1e9).scatter(0, torch.tensor(71), 0.0)
    found = predictions(family, context, rows)
    parts = first.split([3, 5])
    expected = torch.cat([reference(network, row, TEXT, told) for row, told in zip(rows, parts, strict=True)])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(found, predictions(family, finished(family.encode(*TEXT)), rows), atol=1e-2)


def test_rows_do_not_see_each_other(family: Any) -> None:
    rows = [[70, 71, 72], list(range(80, 91)), [71, 72], [9]]
    together = predictions(family, finished(family.encode(*TEXT)), rows)
    alone = torch.cat([predictions(family, finished(family.encode(*TEXT)), [row]) for row in rows])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


def test_typing_encodes_what_is_new_and_computes_the_same(folder: Path, network: nn.Module) -> None:
    family, before = loaded(folder), "value = 1\n" * 12
    cold = finished(family.encode(before, TEXT[1]))
    assert cold.encoded == cold.tokens
    warm = finished(family.encode(before + "v", TEXT[1]))
    assert warm.encoded == 1
    back = finished(family.encode(before[:-5], TEXT[1]))  # further than a window reaches, the cut leaves what it had
    assert back.encoded == 0
    for context, text in ((warm, before + "v"), (back, before[:-5])):
        expected = reference(network, [70, 71], (text, TEXT[1]))
        torch.testing.assert_close(predictions(family, context, [[70, 71]]), expected, atol=1e-4, rtol=1e-4)


def test_reading_that_was_stopped_goes_on_where_it_was(folder: Path) -> None:
    family, asked = loaded(folder), []

    with pytest.raises(OutOfTime):
        limited(family.encode(*TEXT), 1, asked)
    context = finished(family.encode(*TEXT))
    assert context.encoded == context.tokens - asked[0]


def run(family: DiffusionGemmaModel, canvas: Canvas, rows: list[Row], steps: int = 6) -> Iterator[Step]:
    context, rules = finished(family.encode(*TEXT)), constraints_for(family, LINE, canvas, "")
    settings = SamplerSettings(max_steps=steps)
    return states(denoise(family, Task(context, canvas, rows, rules), settings, Costs()))


def test_given_slots_never_change(family: Any) -> None:
    canvas = lay_out([6, 6], family.info.mask_id)
    for position, token in ((2, 70), (8, 71)):
        canvas.ids[position], canvas.state[position] = token, State.FIXED
    for step in run(family, canvas, [Row(6), Row(6)]):
        assert step.canvas.ids[step.canvas.state == State.FIXED].tolist() == [70, 71]


def test_what_a_row_becomes_does_not_depend_on_the_rows_behind_it(family: Any) -> None:
    alone = [step.canvas.ids.copy() for step in run(family, lay_out([5], 0), [Row(5)])]
    beside = [
        step.canvas.ids[:5].copy() for step in run(family, lay_out([5, 9, [70, 71]], 0), [Row(5), Row(9), Row(2)])
    ]
    assert [ids.tolist() for ids in alone] == [ids.tolist() for ids in beside]


def test_open_slots_hold_other_noise_in_every_step(family: Any) -> None:
    steps = run(family, lay_out([8], family.info.mask_id), [Row(8)])
    held = [np.where(step.canvas.state == State.OPEN, step.canvas.ids, -1) for step in steps]
    stayed = [same for one, other in pairwise(held) for same in (one == other)[(one >= 0) & (other >= 0)]]
    assert len(stayed) > 8
    assert sum(stayed) <= 1
    assert -1 in held[0]  # at least one a step is sure enough
    assert set(held[-1].tolist()) == {-1}


def at_once(family: DiffusionGemmaModel, before: str, behind: str, shift: int = 0) -> str | None:
    """The two slots of a hole in one step: no loop that could mend anything. `shift` reads them beside themselves."""
    canvas = lay_out([2 + 2 * abs(shift)], family.info.mask_id)
    if not shift:
        Corruptor(family.info, 1, 7).fill(canvas)
    logits = family.denoise(finished(family.encode(before, behind)), canvas, np.arange(canvas.slots))
    return family.vocabulary.decode(logits.argmax(-1)[abs(shift) :][:2].tolist())


def test_the_synthetic_task_is_solved_and_only_with_the_right_mask_and_place(
    synthetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = loaded(synthetic)
    assert share_right(partial(at_once, family)) >= 0.95
    assert share_right(partial(at_once, family, shift=1), SOME_PAIRS) < 0.2
    states = family._network.states

    def other_prompt(ids: Any, places: Any, own: Any, layers: Any, told: Any) -> Tensor:
        return states(ids, places, own, [(keys.flip(2), values) for keys, values in layers], told)

    monkeypatch.setattr(family._network, "states", other_prompt)
    assert share_right(partial(at_once, family)) < 0.3  # what stands right of the hole is on the canvas too


def filled(family: DiffusionGemmaModel, before: str, behind: str, *, slots: int = 2) -> str | None:
    canvas, hole = lay_out([slots], family.info.mask_id), Hole(HoleKind.EXPRESSION)
    context, rules = finished(family.encode(before, behind)), constraints_for(family, hole, canvas, "")
    settings = SamplerSettings(max_steps=6)
    steps = list(states(denoise(family, Task(context, canvas, [Row(slots)], rules), settings, Costs())))
    ids = steps[-1].canvas.ids.tolist()
    return family.vocabulary.decode(ids[: ids.index(TURN_END)] if TURN_END in ids else ids)


def test_the_loop_solves_it_and_only_if_the_model_is_told_rightly(
    synthetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = loaded(synthetic)
    assert share_right(partial(filled, family), SOME_PAIRS) >= 0.95
    assert share_right(partial(filled, family, slots=4), SOME_PAIRS) >= 0.95
    condition = family.condition

    def beside(context: Context, canvas: Canvas, wanted: Any, logits: Tensor) -> None:
        condition(context, canvas, wanted, logits.roll(1, 0))

    monkeypatch.setattr(family, "condition", beside)
    assert share_right(partial(filled, family), SOME_PAIRS) < 0.6


def test_a_row_that_has_settled_costs_no_further_step(synthetic: Path) -> None:
    family = loaded(synthetic)
    canvas = lay_out([2], family.info.mask_id)
    context, rules = finished(family.encode(*sides(3, 4))), constraints_for(family, LINE, canvas, "")
    settings = SamplerSettings(max_steps=20, converged=0.2)
    steps = list(states(denoise(family, Task(context, canvas, [Row(2)], rules), settings, Costs())))
    assert 2 <= len(steps) < 8
    assert (canvas.state == State.COMMITTED).all()


def engine(folder: Path) -> Engine:
    short = replace(EXACT, prefix_tokens=64, suffix_tokens=64)  # the warm-up's text is longer than the tests' are
    return load_engine(str(folder), device="cpu", settings=EngineSettings(model=short))


def test_the_whole_engine_answers_with_it(synthetic: Path) -> None:
    engines = [engine(synthetic) for _ in range(2)]
    requests = [InfillRequest(*sides(*pair), LANGUAGE, drafts=(Draft("kx", 5),)) for pair in SOME_PAIRS[:3]]
    answers = [[each.infill(request, Deadline.after_ms(60_000)) for request in requests] for each in engines]
    assert answers[0] == answers[1]

    def first(before: str, behind: str) -> str | None:
        request = InfillRequest(before, behind, LANGUAGE, drafts=(), hole=Hole(HoleKind.EXPRESSION))
        found = engines[0].infill(request, Deadline.after_ms(60_000))
        return found[0].text if found else None

    assert share_right(first, SOME_PAIRS) >= 0.9


@pytest.mark.parametrize(("precision", "most"), [("int8", 0.1), ("int4", 1.0)])
def test_kept_in_few_bits_it_computes_nearly_the_same(
    precision: str, most: float, folder: Path, network: nn.Module
) -> None:
    small = loaded(folder, replace(EXACT, dtype=precision))
    found = predictions(small, finished(small.encode(*TEXT)), [[70, 71, 72]])
    difference = (found - reference(network, [70, 71, 72], TEXT)).abs().mean()
    assert 0 < float(difference) < most


def test_temperatures_are_those_of_the_checkpoint(folder: Path, network: nn.Module, tmp_path: Path) -> None:
    publish(network, tmp_path)
    (tmp_path / "generation_config.json").write_text('{"t_max": 0.9, "t_min": 0.3}')
    assert loaded(tmp_path).info.temperatures == (0.9, 0.3)
    (tmp_path / "generation_config.json").write_text('{"t_max": -1}')
    with pytest.raises(ModelDamagedError, match="above zero"):
        loaded(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text_config": None}, "text_config"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"canvas_length": 0}, "canvas_length"),
        ({"text_config": {"num_experts": None}}, "num_experts"),
        ({"text_config": {"use_bidirectional_attention": "all"}}, "use_bidirectional_attention"),
        ({"text_config": {"rope_parameters": {"full_attention": {}}}}, "does not describe"),
        ({"text_config": {"hidden_size": 32}}, "shape"),
    ],
)
def test_another_kind_of_network_is_refused(
    change: dict[str, Any], message: str, network: nn.Module, tmp_path: Path
) -> None:
    publish(network, tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for name, value in change.items():
        config[name] = config[name] | value if isinstance(value, dict) else value
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelDamagedError, match=message):
        loaded(tmp_path)
