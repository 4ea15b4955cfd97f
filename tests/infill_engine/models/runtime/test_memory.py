"""Memory that runs out while a model is loaded or used: the engine is content with less, and says so."""

import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from local_engine import engine_of

from bench.families import masked
from infill_engine import Deadline, Draft, Engine, InfillRequest, load_engine
from infill_engine.errors import ModelTooLargeError
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.checkpoint import weights
from infill_engine.models.runtime import memory
from infill_engine.models.runtime.allocator import is_out_of_memory
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.sampling.scripted import Script
from infill_engine.settings import ModelSettings
from infill_engine.types import Answer
from tests.infill_engine.models.trunk.tiny_trunk import tiny_model
from tests.scripted_canvas import ScriptedModel

TEXTS = ("alpha(1)", "beta(2)", "gamma", "delta + 4")


class Cramped(ScriptedModel):
    """A scripted family with memory for so many rows and slots, as a CPU or a GPU tells of it."""

    def __init__(self, rows: int, slots: int, error: Exception) -> None:
        super().__init__(Script(rules=(("", TEXTS),)))
        self.rows, self.slots, self.error = rows, slots, error

    def denoise(self, context: Any, canvas: Any, wanted: Any) -> torch.Tensor:
        if canvas.rows > self.rows or int(canvas.lengths.max()) > self.slots:
            raise self.error
        return super().denoise(context, canvas, wanted)


ON_CPU = RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
ON_CUDA = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def asked(engine: Engine, before: str) -> Answer:
    return engine.answer(InfillRequest(before, "\n", drafts=()), Deadline.after_ms(60_000))


ON_CUBLAS = RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")


@pytest.mark.parametrize("error", [ON_CPU, ON_CUDA, ON_CUBLAS])
def test_fewer_candidates_in_the_same_answer_and_said_once(error: Exception) -> None:
    engine = engine_of(Cramped(2, 99, error), "large")
    first, second = asked(engine, "x = "), asked(engine, "y = ")
    assert 1 <= len(first.candidates) <= 2
    assert "ran out of memory on cpu" in first.user_message
    assert "int8 or int4" in first.user_message
    assert second.candidates
    assert not second.user_message


@pytest.mark.parametrize("ahead", [False, True])
def test_nothing_is_held_on_to_when_memory_is_given_back(ahead: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[weakref.ref[torch.Tensor]] = []

    class Holding(Cramped):
        def encode(self, *arguments: Any) -> Any:
            computed = torch.zeros(1)
            held.append(weakref.ref(computed))
            if len(held) == 1:
                raise RuntimeError("out of memory")
            return super().encode(*arguments)

    alive = []
    monkeypatch.setattr(
        "infill_engine.engine.loaded_model.give_back", lambda _device: alive.append(held[0]() is not None)
    )
    engine = engine_of(Holding(9, 99, ON_CPU), "large")
    if ahead:
        engine.prefetch(InfillRequest("x = ", "\n"), Deadline.after_ms(60_000))
    else:
        assert asked(engine, "x = ").candidates
    assert alive == [False]


def test_then_one_short_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = masked.publish("dream", masked.stock_network("qwen2"), tmp_path / "dream")
    family: Any = load_canvas_model(str(folder), "cpu", ModelSettings(dtype="fp32"))
    denoise = family.denoise
    sizes = []

    def with_little_memory(context: Any, canvas: Any, wanted: Any) -> torch.Tensor:
        sizes.append((canvas.rows, int(canvas.lengths.max())))
        if canvas.slots > 8:
            raise ON_CPU
        found: torch.Tensor = denoise(context, canvas, wanted)
        return found

    monkeypatch.setattr(family, "denoise", with_little_memory)
    engine = engine_of(family, "large")
    assert asked(engine, "x = ").user_message
    assert engine.name == "large"
    assert sizes[0][0] > sizes[1][0] > sizes[2][0] == 1
    assert not asked(engine, "y = ").user_message


def test_the_trunk_forgets_what_it_has_read_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model(tmp_path)
    run, buffers = TorchBackend.run, []

    def with_little_memory(backend: TorchBackend, buffer: Any, *arguments: Any) -> Any:
        buffers.append(buffer)
        if buffer is buffers[0]:
            raise ON_CPU
        return run(backend, buffer, *arguments)

    monkeypatch.setattr(TorchBackend, "run", with_little_memory)
    engine = engine_of(model, "large")
    answer = asked(engine, "x = ")
    assert answer.candidates
    assert answer.user_message.startswith("large ran out of memory on cpu: it has to read the text")
    assert not asked(engine, "y = ").user_message


def test_then_retrieved_texts_alone() -> None:
    engine = engine_of(Cramped(0, 0, ON_CPU), "large")
    first = asked(engine, "x = ")
    assert first.user_message.startswith("Only retrieved texts are suggested: large runs out of memory on cpu")
    assert engine.name == "retrieval"
    assert "large runs out of memory" in engine.profile
    second = engine.answer(
        InfillRequest("total = ", "\n", drafts=(Draft("compute(one)", 9),)), Deadline.after_ms(60_000)
    )
    assert [candidate.text for candidate in second.candidates] == ["compute(one)"]
    assert not second.user_message


def test_other_faults_are_not_hidden() -> None:
    assert not is_out_of_memory(RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes"):
        asked(engine_of(Cramped(0, 0, RuntimeError("shapes do not match")), "large"), "x = ")


def test_a_model_that_does_not_fit_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = masked.publish("dream", masked.stock_network("qwen2"), tmp_path / "dream")
    monkeypatch.setattr(memory, "free_memory", lambda _device: 1000)
    with pytest.raises(ModelTooLargeError, match="dream needs about"):
        load_engine(str(folder), device="cpu")


@pytest.mark.parametrize("where", ["pack", "replace_parameter"])
def test_memory_that_runs_out_while_weights_are_packed(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ON_CPU

    folder = masked.publish("dream", masked.stock_network("qwen2"), tmp_path / "dream")
    monkeypatch.setattr(weights, where, full)
    with pytest.raises(ModelTooLargeError, match="dream does not fit cpu"):
        load_canvas_model(str(folder), "cpu", ModelSettings(dtype="int8"))
