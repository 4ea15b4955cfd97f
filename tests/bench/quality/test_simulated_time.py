"""Simulated time: recorded passes are replayed in turn, and what is no record of this model is refused."""

import json
import sys
from pathlib import Path

import msgspec
import pytest

sys.path += [str(Path(__file__).parents[2] / "infill_engine" / part) for part in ("", "models/trunk")]

from local_engine import engine_of
from tiny_trunk import tiny_model

from bench.quality.__main__ import main as quality
from bench.quality.problems.holes import Task
from bench.quality.record import RecordingEngine, WatchedCosts, _rest, main, record
from bench.quality.systems.product import EngineSystem, ask
from bench.quality.systems.simulated_time import RecordedCosts, Rest, SimulatedTime, read_costs, simulate
from bench.quality.typed.__main__ import main as typed
from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import Phase
from infill_engine.errors import InputError
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.forms import PassForm, forms_of

FORMS = list(forms_of(denoises=False))  # 8, 16 and 32 rows
READING = [(32, 60.0), (8, 29.0)]
COSTS = RecordedCosts(
    "a processor", 2, FORMS, "2026-01-01 00:00", READING, [(8, 30.0), (16, 50.0), (8, 34.0)], [Rest(5.0, 1.0, 3.0)]
)
TASK = Task("a:1", "a", "line", "class Box:\n    width = 1\n    height = \n", 2, 13, "2")


@pytest.fixture(autouse=True)
def forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchBackend, "forms", property(lambda _: tuple(FORMS)))


@pytest.fixture
def engine(tmp_path: Path) -> RecordingEngine:
    made = engine_of(tiny_model(tmp_path))
    made.proposer.measure()  # type: ignore[attr-defined]
    return RecordingEngine.of(made)


def time_of(engine: RecordingEngine, costs: RecordedCosts = COSTS) -> SimulatedTime:
    return SimulatedTime(costs, engine.proposer.model)  # type: ignore[attr-defined]


def test_each_pass_takes_the_next_time_of_its_size(engine: RecordingEngine) -> None:
    time = time_of(engine)
    assert [time.pass_ms(8) for _ in range(3)] == [30.0, 34.0, 30.0]
    time.reads = True
    assert [time.pass_ms(size) for size in (8, 16, 8)] == [29.0, 50.0, 29.0]


def test_a_size_that_was_never_recorded_takes_the_next_larger_ones_time(engine: RecordingEngine) -> None:
    time = time_of(engine, msgspec.structs.replace(COSTS, passes=[(8, 30.0)]))
    assert time.pass_ms(16) == 60.0
    assert time.least_ms(16) == 60.0


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"forms": [PassForm(4, 0)]}, "not of all forms"),
        ({"reading": []}, "not of all forms"),  # none of 32 rows
        ({"rest": []}, "larger --budget-ms"),
    ],
)
def test_times_of_another_model_are_refused(
    engine: RecordingEngine, changed: dict[str, list[object]], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        simulate(engine, msgspec.structs.replace(COSTS, **changed))


@pytest.mark.parametrize("text", ["8:33", '{"passes": [[8, 30.0]]}', None])
def test_what_is_no_record_is_refused_with_the_command_that_makes_one(
    text: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("value = compute(argument)\n" * 3)
    path = tmp_path / "costs.json"
    if text is not None:
        path.write_text(text)
    for command in (quality, typed):
        assert command(["--packages", str(tmp_path), "--model", "scripted", "--simulate", str(path)]) == 2
        assert "python -m bench.quality.record" in capsys.readouterr().err


def test_the_clock_shows_passes_and_what_lies_between_and_around_them(engine: RecordingEngine) -> None:
    question = ask(TASK, 4, engine.window)
    product = EngineSystem(engine, 200.0, clock=simulate(engine, COSTS))
    reply = product(question)
    assert reply.extra["passes"] >= 2
    sizes = {8: [30.0, 34.0] * 4, 16: [50.0] * 4, 32: [60.0] * 4}
    passes = int(reply.extra["passes"])
    whole = 5.0 + 3.0 + passes * 1.0
    possible = {whole + sum(sizes[8][:few]) + 50.0 * (passes - few) for few in range(passes + 1)}
    assert any(abs(reply.elapsed_ms - each) < 1e-6 for each in possible)
    assert reply.elapsed_ms <= 200.0
    again = EngineSystem(engine, 200.0, clock=simulate(engine, COSTS))(question)
    assert (again.texts, again.elapsed_ms) == (reply.texts, reply.elapsed_ms)


def test_an_answer_is_its_passes_and_the_rest() -> None:
    passes = [(8, 30.0, 1.040), (16, 50.0, 1.092), (8, 20.0, 1.116)]
    found = _rest(1.0, passes, 1.123)
    assert found == Rest(10.0, 3.0, 4.0)
    assert found.before + 3 * found.between + found.after + 100.0 == pytest.approx(123.0)


def test_real_answers_are_recorded_and_replayed(engine: RecordingEngine) -> None:
    costs, simulated = record(engine, [TASK], 20_000.0)
    assert [size for size, _ in costs.passes] == [size for size, _ in costs.passes if size in (8, 16, 32)]
    assert len(costs.passes) >= costs.quality["passes"] > 1
    took = sum(took for _, took in costs.passes)
    (rest,) = costs.rest
    assert took + rest.before + rest.after < costs.quality["end_ms"] + 0.5
    assert simulated["passes"] > 1
    assert simulated["holes"] == costs.quality["holes"] == 1


def test_watched_costs_learn_like_others() -> None:
    costs = WatchedCosts()
    costs.observe(Phase.PASS, 8, 30.0)
    costs.observe(Phase.COUNT, 8, 9.0)
    assert costs.predict_ms(Phase.PASS, 8) == 30.0
    assert [(size, took) for size, took, _ in costs.take()] == [(8, 30.0)]
    assert not costs.take()


def test_the_whole_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("def add(first, second):\n    return first + second\n" * 4)
    made = engine_of(tiny_model(tmp_path))
    made.proposer.measure()  # type: ignore[attr-defined]
    monkeypatch.setattr("bench.quality.record.load_engine", lambda *_, **__: made)
    out = tmp_path / "costs.json"
    packages = ["--packages", str(tmp_path), "--holes", "1"]
    assert main([*packages, "--budget-ms", "5000", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    last = json.loads(told.strip().split("\n")[-1])
    assert last["real"].keys() == last["simulated"].keys()
    costs = read_costs(out)
    assert costs is not None
    assert str(costs) == last["costs"]
    again = engine_of(tiny_model(tmp_path))
    monkeypatch.setattr("bench.quality.__main__.load_engine", lambda *_, **__: again)
    assert quality([*packages, "--simulate", str(out), "--systems", "beams", "engine"]) == 0
    assert json.loads(capsys.readouterr().out.strip().split("\n")[-1])["simulated"] == str(costs)


def test_a_model_without_forms_is_refused(engine: RecordingEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchBackend, "forms", ())
    with pytest.raises(InputError, match="fixed forms"):
        simulate(engine, COSTS)


def test_a_deadline_is_kept_by_the_simulated_clock(engine: RecordingEngine) -> None:
    time = simulate(engine, msgspec.structs.replace(COSTS, rest=[Rest(200.0, 0.0, 0.0)]))
    engine.answer(ask(TASK, 4, engine.window).request, Deadline.after_ms(150.0, clock=time))
    assert time.seconds == pytest.approx(0.2)  # no pass had time
