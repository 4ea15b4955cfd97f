"""Masked diffusion with full attention: logits, the synthetic task, the whole engine.

Rows apart and given slots of every family: `tests/bench/test_families.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jobs import limited, states
from torch import Tensor
from toy import LANGUAGE, PAIRS, share_right, sides

from bench.families import masked
from bench.families.masked import MASK, PUBLISHED, reference, stock_network
from infill_engine import Deadline, Engine, InfillRequest, load_engine
from infill_engine.budget.work import Costs, OutOfTime, finished
from infill_engine.errors import ModelDamagedError
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, LogitShift
from infill_engine.sampling.canvas import orders
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import DenoisingTask, Row, denoise
from infill_engine.settings import ModelSettings
from infill_engine.types import Draft, Hole, HoleKind

EXACT = ModelSettings(dtype="fp32")
SOME_PAIRS = PAIRS[::5]
BEFORE, BEHIND = "x = [1:", ":2]\nfor i in range(10):\n"
every_family = pytest.mark.parametrize("name", PUBLISHED)
# One with a shift and one without. The logits of every family are compared with the reference, so a network need not be
# trained for each.
taught_families = pytest.mark.parametrize("name", ["dream", "llada"])


def loaded(folder: Path) -> BidirectionalModel:
    family = load_canvas_model(str(folder), "cpu", EXACT)
    assert isinstance(family, BidirectionalModel)
    return family


def predictions(family: BidirectionalModel, rows: list[int | list[int]], text: tuple[str, str]) -> Tensor:
    canvas = lay_out(rows, family.info.mask_id)
    return family.denoise(finished(family.encode(*text)), canvas, np.arange(canvas.slots))


def engine(folder: Path) -> Engine:
    short = replace(EXACT, prefix_tokens=64, suffix_tokens=64)  # the warm-up's text is longer than the tests' are
    return load_engine(str(folder), device="cpu", settings=short)


def first_candidate(engine: Engine, before: str, behind: str) -> str | None:
    found = engine.infill(InfillRequest(before, behind, LANGUAGE, drafts=()), Deadline.after_ms(60_000))
    return found[0].text if found else None


@every_family
def test_logits_are_those_of_the_reference(name: str, masked_families: Callable[[str], Any]) -> None:
    family, network = masked_families(name)
    rows: list[list[int]] = [[MASK] * 3, [70, MASK, 71, MASK, MASK, 72, MASK, MASK, MASK], [MASK]]
    expected = torch.cat([reference(name, network, row, (BEFORE, BEHIND)) for row in rows])
    torch.testing.assert_close(predictions(family, list(rows), (BEFORE, BEHIND)), expected, atol=1e-4, rtol=1e-4)


@every_family
@pytest.mark.parametrize("text", [("x", ""), (BEFORE * 40, BEHIND * 30)])
def test_logits_with_little_and_with_much_around(
    name: str, text: tuple[str, str], masked_families: Callable[[str], Any]
) -> None:
    family, network = masked_families(name)
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
def test_an_empty_file_has_an_answer(name: str, masked_families: Callable[[str], Any]) -> None:
    family, _ = masked_families(name)
    assert torch.isfinite(predictions(family, [2], ("", ""))).all()


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


def test_a_probe_is_asked_for_and_remembered(masked_families: Callable[[str], Any]) -> None:
    family, _ = masked_families("dream")
    with pytest.raises(OutOfTime):
        limited(family.encode("probe", "me"), 0)
    assert finished(family.encode("probe", "me")).encoded > 0
    assert finished(family.encode("probe", "me")).encoded == 0


def at_once(family: BidirectionalModel, before: str, behind: str) -> str | None:
    """Both slots of a hole of two, in one step: no loop that could mend anything."""
    return family.vocabulary.decode(predictions(family, [2], (before, behind)).argmax(-1).tolist())


@taught_families
def test_the_synthetic_task_is_solved_and_only_with_the_right_shift_and_mask(
    name: str, synthetic_masked: Callable[[str], Path]
) -> None:
    family = loaded(synthetic_masked(name))
    assert share_right(partial(at_once, family)) >= 0.95
    other = LogitShift.NONE if PUBLISHED[name].shift else LogitShift.RIGHT
    shifted = BidirectionalModel(
        replace(family._description, shift=other), family._backbone, family.vocabulary, family._settings
    )
    assert share_right(partial(at_once, shifted), SOME_PAIRS) < 0.2
    see = family._backbone.states

    def see_left(ids: Tensor, places: Tensor, visible: Tensor, memory: Any = None) -> Tensor:
        return see(ids, places, visible & (places[:, None, None, :] <= places[:, None, :, None]), memory)

    family._backbone.states = see_left  # type: ignore[method-assign]
    assert share_right(partial(at_once, family), SOME_PAIRS) < 0.2


@taught_families
def test_the_whole_engine_answers_with_it(name: str, synthetic_masked: Callable[[str], Path]) -> None:
    engines = [engine(synthetic_masked(name)) for _ in range(2)]
    assert share_right(partial(first_candidate, engines[0]), SOME_PAIRS) >= 0.95
    requests = [InfillRequest(*sides(*pair), LANGUAGE, drafts=(Draft("kx", 5),)) for pair in SOME_PAIRS[:4]]
    answers = [[each.infill(request, Deadline.after_ms(60_000)) for request in requests] for each in engines]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_dreamon_finds_the_length_by_itself(
    slots: int, synthetic_masked: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    family = loaded(synthetic_masked("dreamon"))
    monkeypatch.setattr(orders, "MAX_STEPS", 8)
    hole = Hole(HoleKind.EXPRESSION)

    def fill(before: str, behind: str) -> str | None:
        canvas = lay_out([slots], family.info.mask_id)
        context, rules = finished(family.encode(before, behind)), constraints_for(family, hole, canvas, "")
        job = denoise(family, DenoisingTask(context, canvas, [Row(slots)], rules), Costs())
        steps = list(states(job))
        assert len(steps[-1].predicted) == steps[-1].canvas.slots == steps[-1].canvas.lengths.sum()
        return family.vocabulary.decode(steps[-1].canvas.ids.tolist())

    assert share_right(fill, SOME_PAIRS) >= 0.95
