"""Compiled steps compute what others compute, are prepared at load and at no other time, and may fail.

Compiled for real where that says something, with torch's compiler for CPUs (without a C++ compiler with `aot_eager`,
which is reported). Elsewhere `Graphs` replaces it, which treats its results as CUDA graphs do.
"""

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from compilers import Counting, Graphs, best_backend, fail, prepared, quietly, runs
from few_passes import answer_in_few_passes
from local_engine import engine_of
from torch import Tensor

from bench.families.checks import MINIATURES
from bench.families.masked import publish, stock_network
from infill_engine import Deadline, InfillRequest, load_engine
from infill_engine.budget.work import finished
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.published.diffusion_gemma import model as diffusion_gemma
from infill_engine.models.published.kinds import autoregressive, bidirectional
from infill_engine.models.runtime import cuda_graphs as compiled
from infill_engine.models.runtime.cuda_graphs import compile_steps, compiler_for
from infill_engine.settings import ModelSettings
from infill_engine.types import HoleKind

EXACT = ModelSettings(dtype="float32", probe_lengths=False)
KEPT = ModelSettings(dtype="float32", probe_lengths=False, reuse_context=True)
TEXTS = (("x = [1:", ":2]\nfor i in range(10):\n"), ("def f(x):\n    return x\n" * 12 + "y = f(", ")\n" * 9))
ROWS = ([3], [8, 4, 5], [16, 16, 16, 16, 4])
FAMILIES = (("dream", EXACT), ("dream", KEPT), ("stable-diffcoder", EXACT), ("mellum", EXACT))
CODE = (*FAMILIES, ("starcoder2", EXACT), ("a2d-qwen3", KEPT), ("diffusion-gemma", EXACT))


@lru_cache
def written(name: str, parent: Path) -> Path:
    folder = parent / name
    MINIATURES[name].write(folder)
    return folder


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    parent = tmp_path_factory.mktemp("miniatures")
    return lambda name, settings: load_canvas_model(str(written(name, parent)), "cpu", settings)


def predictions(family: Any, text: tuple[str, str], lengths: Sequence[int]) -> list[Tensor]:
    """Logits of the open slots of three steps, in which more and more is decided."""
    context, found = finished(family.encode(*text)), []
    canvas = lay_out(lengths, family.info.mask_id)
    for decided in (0, 1, 2):
        canvas.ids[canvas.index < decided] = 70
        wanted = np.flatnonzero(canvas.index >= decided)
        found.append(family.denoise(context, HoleKind.LINE, canvas, wanted))
    return found


def check_equal(family: Any, plain: Any, text: tuple[str, str], lengths: Sequence[int]) -> None:
    for found, expected in zip(predictions(family, text, lengths), predictions(plain, text, lengths), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("name", "settings"), CODE)
def test_every_family_computes_the_same_in_prepared_shapes(
    load: Callable[..., Any], name: str, settings: ModelSettings
) -> None:
    family, plain = load(name, settings), load(name, settings)
    assert not prepared(family, Graphs())
    for text in TEXTS:
        for lengths in ROWS:
            check_equal(family, plain, text, lengths)
        typed = text[0] + "va", text[1]
        check_equal(family, plain, typed, ROWS[0])
    assert runs(family) > len(TEXTS)


@pytest.mark.parametrize(("name", "settings"), CODE)
def test_the_whole_loop_gives_the_same_candidates(load: Callable[..., Any], name: str, settings: ModelSettings) -> None:
    def candidates(family: Any) -> list[list[str]]:
        engine = engine_of(family, name)
        before = "def f(x):\n    return x\n" * 8 + "y = "
        asked = [InfillRequest(before + typed, TEXTS[0][1]) for typed in ("", "ab")]
        answers = [answer_in_few_passes(engine, request) for request in asked]
        return [[candidate.text for candidate in answer.candidates] for answer in answers]

    family = load(name, settings)
    prepared(family, Graphs())
    assert candidates(family) == candidates(load(name, settings))
    assert runs(family) > 4


@pytest.mark.parametrize(
    ("name", "settings"), [("dream", KEPT), ("stable-diffcoder", EXACT), ("diffusion-gemma", EXACT)]
)
def test_four_rows_of_32_slots_find_their_shape(load: Callable[..., Any], name: str, settings: ModelSettings) -> None:
    family = load(name, settings)
    prepared(family, lambda function: function)
    before = runs(family)
    predictions(family, TEXTS[1], [32] * 4)
    assert runs(family) - before >= 3


@pytest.mark.parametrize(("backend", "tokens"), [(best_backend(), (64,)), ("aot_eager", (16, 64))])
def test_a_compiled_step_is_the_same_and_nothing_is_compiled_later(
    backend: str, tokens: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = publish("dream", stock_network("qwen2", num_hidden_layers=1), tmp_path / "dream")
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 1}))
    monkeypatch.setattr(bidirectional, "STEP_TOKENS", tokens)
    monkeypatch.setattr(bidirectional, "STEP_COLUMNS", (128,))
    family, plain = (load_canvas_model(str(folder), "cpu", KEPT) for _ in range(2))
    counting = Counting(backend)
    assert not prepared(family, counting)
    assert counting.compiled == len(tokens)
    ran = counting.ran
    for lengths in ([3], [8], [3, 7, 4], [16, 16]):  # within the first shape, and the second
        check_equal(family, plain, TEXTS[0], lengths)
    assert runs(family) == counting.ran - ran >= 8
    for text, lengths in ((TEXTS[0], [32, 32, 16]), (TEXTS[1], [3])):  # more slots, and more context, than there may be
        ran = counting.ran
        check_equal(family, plain, text, lengths)
        assert counting.ran == ran
    assert counting.compiled == len(tokens)


@pytest.mark.parametrize(("name", "module"), [("mellum", autoregressive), ("diffusion-gemma", diffusion_gemma)])
def test_torch_can_compile_the_others_whole(
    load: Callable[..., Any], name: str, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STEP_TOKENS", (64,))
    monkeypatch.setattr(module, "STEP_COLUMNS", (512,))
    monkeypatch.setattr(module, "STEP_ROWS", (4,), raising=False)
    family, counting = load(name, EXACT), Counting("aot_eager")
    assert not prepared(family, counting)
    assert counting.compiled == 1
    check_equal(family, load(name, EXACT), TEXTS[0], [8, 3])
    assert runs(family) >= 2
    assert counting.compiled == 1


def test_packed_experts_are_left_as_they_are(tmp_path: Path) -> None:
    MINIATURES["diffusion-gemma"].write(tmp_path / "gemma")
    family: Any = load_canvas_model(str(tmp_path / "gemma"), "cpu", ModelSettings("int8", probe_lengths=False))
    assert not family.compile_steps(fail, quietly, fail)
    assert predictions(family, TEXTS[0], [8])


def test_nothing_is_compiled_but_on_cuda(load: Callable[..., Any]) -> None:
    assert compiler_for("cuda") is not None
    assert compiler_for("cuda:1") is not None
    for device in ("cpu", "mps", "mlx", "meta"):
        assert compiler_for(device) is None
    family = load("dream", EXACT)
    assert not compile_steps(family, "cpu", quietly, lambda _trouble: None)
    assert not family._backbone._alone.ready


def test_an_engine_whose_steps_cannot_be_compiled_answers_and_says_so_once(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = publish("dream", stock_network("qwen2"), tmp_path / "dream")
    monkeypatch.setattr(compiled, "compiler_for", lambda _device: fail)
    said: list[str] = []
    engine = load_engine(str(folder), device="cpu", progress=lambda what, _share: said.append(what))
    assert said[-1] == "ready"
    answers = [engine.answer(InfillRequest(before, "\n"), Deadline.after_ms(60_000)) for before in ("x = ", "y = ")]
    assert "could not be compiled" in answers[0].user_message
    assert str(folder) in answers[0].user_message
    assert not answers[1].user_message


def test_loading_tells_of_every_shape(load: Callable[..., Any]) -> None:
    said: list[tuple[str, float]] = []
    load("dream", EXACT).compile_steps(Graphs(), lambda what, share: said.append((what, share)), fail)
    assert said[0] == ("compiling steps, shape 1 of 5", 0.0)
    assert len(said) == 5
