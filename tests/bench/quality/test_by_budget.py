"""The same holes within several budgets: copy, left to right, the product, and a llama-server that streams."""

import json
import sys
from pathlib import Path
from time import sleep

import pytest

sys.path += [str(Path(__file__).parents[2] / "infill_engine" / part) for part in ("", "models/trunk", "engine/remote")]

from local_engine import engine_of
from servers import Teller, Visit, telling
from tiny_trunk import tiny_model

from bench.quality.by_budget import LeftToRight, Llama, main
from bench.quality.problems.holes import Task
from bench.quality.systems.product import EngineSystem, ObservedEngine, Question, Reply, ask
from infill_engine.engine.remote.address import Address, read_address
from infill_engine.errors import InputError

TASK = Task("a:1", "a", "line", "class Box:\n    width = 1\n    height = \n", 2, 13, "width")


def says(visit: Visit) -> None:
    """Streams two lines, at once but for the second word, which comes late."""
    visit.begin()
    visit.event({"content": "wid"})
    if visit.asked["n_predict"] > 1 and "late" in visit.asked["input_suffix"]:
        sleep(1)
    visit.event({"content": "th\nmore"})
    visit.event({"content": "", "stop": True})
    visit.close()


def address_of(teller: Teller) -> Address:
    return read_address(f"llama:http://127.0.0.1:{teller.server_port}")


def test_llama_is_read_beforehand_and_asked_for_one_line() -> None:
    with telling(says) as teller:
        found = Llama(address_of(teller), 5000.0)(ask(TASK, 4))
        (_, warm, _), (path, asked, _) = teller.questions
    assert path == "/infill"
    assert found.texts == ("width",)
    assert (warm["input_prefix"], warm["n_predict"]) == ("class Box:\n    width = 1\n", 1)
    assert (asked["input_prefix"], asked["prompt"]) == (warm["input_prefix"], "    height = ")
    assert (asked["stop"], asked["temperature"]) == (["\n"], 0.0)


def test_what_llama_has_said_in_time_counts() -> None:
    late = Task("a:1", "a", "line", f"{TASK.text}late = 1\n", 2, 13, "width")
    with telling(says) as teller:
        found = Llama(address_of(teller), 300.0)(ask(late, 4))
    assert found.texts == ("wid",)
    assert found.elapsed_ms < 900


def test_a_llama_server_that_is_down_is_told() -> None:
    with pytest.raises(InputError, match=r"127\.0\.0\.1"):
        Llama(read_address("llama:http://127.0.0.1:1"), 100.0)(ask(TASK, 4))


def test_left_to_right_is_the_product_without_masks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ObservedEngine.of(engine_of(tiny_model(tmp_path)))
    model, seen = engine.proposer.model, []  # type: ignore[attr-defined]

    def watched(_self: EngineSystem, _question: Question) -> Reply:
        seen.append(model.denoises)
        return Reply()

    monkeypatch.setattr(EngineSystem, "__call__", watched)
    LeftToRight(EngineSystem(engine, 100.0))(ask(TASK, 4))
    assert (seen, model.denoises) == ([False], True)


def test_the_whole_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("def add(first, second):\n    return first + second\n" * 4)
    engine = engine_of(tiny_model(tmp_path))
    monkeypatch.setattr("bench.quality.by_budget.load_engine", lambda *_, **__: engine)
    out = tmp_path / "results" / "by-budget.jsonl"
    arguments = ["--packages", str(tmp_path), "--holes", "1", "--budgets", "100", "5000"]
    assert main([*arguments, "--out", str(out)]) == 0
    last = json.loads(capsys.readouterr().out.strip().split("\n")[-1])
    assert list(last["by_budget"]) == ["100.0", "5000.0"]
    assert list(last["by_budget"]["100.0"]) == ["copy", "left to right", "engine"]
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    holes = {row["id"] for row in rows}
    assert len(rows) == len(holes) * 2 * 3
    assert {path.name for path in out.parent.iterdir()} == {
        "by-budget.jsonl",
        "by-budget.png",
        "by-budget-summary.json",
    }
    assert (out.parent / "by-budget.png").stat().st_size > 1000
    only = tmp_path / "only" / "engine.jsonl"
    assert main([*arguments, "--systems", "engine", "--out", str(only)]) == 0
    assert {row["system"] for row in map(json.loads, only.read_text().splitlines())} == {"engine"}
