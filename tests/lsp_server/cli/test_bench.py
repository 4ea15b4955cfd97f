"""`infill-ls bench` with the scripted model: small parts of the quick suite."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import pytest
from command_line import REPOSITORY, infill_ls, run_here

from bench.replay.client import LspClient
from infill_engine.diagnostics.benchmark import machine
from infill_engine.diagnostics.benchmark.running import PLANS
from lsp_server.__main__ import main
from lsp_server.cli.bench import typing

SCRIPT: dict[str, object] = {
    "rules": [
        {"before": "total / ", "candidates": ["len(readings)"]},
        {"before": "", "candidates": ["value", "width, height"]},
    ]
}
ANSWERS = ("bench", "--only", "quality", "--json")
PROBLEMS = "own.toml"


@dataclass(frozen=True)
class Measured:
    """A finished run in the subfolder `out`, with what it printed. Its settings file is in `state`."""

    folder: Path
    printed: str


@pytest.fixture(autouse=True)
def short_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """How busy the machine is matters to no test."""
    monkeypatch.setattr(machine, "LOOK_SECONDS", 0.05)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    folder = tmp_path_factory.mktemp("measured")
    write_problems(folder)
    with mock.patch.dict(os.environ, INFILL_STATE_DIR=str(folder / "state")):
        arguments = (*ANSWERS, "--problems", PROBLEMS, "--out", "out", "--apply")
        done = infill_ls(*arguments, folder=folder, script=SCRIPT)
        assert done.returncode == 0, done.stderr
        yield Measured(folder, done.stdout)


def write_problems(folder: Path) -> None:
    """Write a small set, so that a run takes seconds."""
    text = "def f(width, height):\\n    return g(⟦width, height⟧)\\n"
    entry = f'[[problem]]\nid = "{{0}}"\nkind = "middle"\ntext = "{text}"\n'
    problems = "".join(entry.format(f"p{number}") for number in range(8))
    (folder / PROBLEMS).write_text(problems, encoding="utf-8")


def lines(results: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in results.read_text().splitlines() if line]


def test_a_run_its_report_and_its_settings(measured: Measured) -> None:
    said = json.loads(measured.printed)
    assert list(said) == ["verdict", "results", "applied", "not_measured", "doubts"]
    assert said["verdict"]["budget_ms"] == 150
    settings = json.loads(Path(said["applied"]).read_text())
    assert (settings["budgetMs"], settings["candidates"]) == (150, 4)
    assert settings["model"].endswith("script.json")
    assert settings["measured"]["reason"] == said["verdict"]["reason"]
    assert settings["measured"]["numbers"]["problems"] == 4
    checks = {check["name"]: check for check in json.loads(_doctor(measured.folder))["checks"]}
    assert checks["settings"]["status"] == "ok"
    assert settings["measured"]["reason"] in checks["settings"]["detail"]
    assert checks["completion"]["detail"].endswith("of the 5000 ms while typing")


def _doctor(folder: Path) -> str:
    command = [sys.executable, "-m", "lsp_server", "doctor", "--json", "--budget-ms", "5000"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_server_uses_what_was_applied(measured: Measured) -> None:
    state = measured.folder / "state"
    path = state / "settings.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"budgetMs": 150', '"budgetMs": 300'), encoding="utf-8")
    client = LspClient(state=state)
    try:
        client.initialize({})
        client.until_ready()
        said = client.request("infill/getStatus", None).wait().result
        assert (said["budgetMs"], said["candidates"]) == (300, 4)
        assert said["model"].endswith("script.json")
        client.close()
    finally:
        client.process.kill()
        client.process.wait()


def test_results_are_not_mixed(measured: Measured) -> None:
    results = measured.folder / "out" / "results.jsonl"
    before = results.read_bytes()
    again = run_here(*ANSWERS, "--problems", PROBLEMS, "--out", "out", folder=measured.folder, script=SCRIPT)
    assert again.returncode == 2
    assert "results.jsonl cannot be written (File exists); give another folder with --out" in again.stderr
    assert results.read_bytes() == before


def test_typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLANS, "quick", replace(PLANS["quick"], keystrokes=30))
    monkeypatch.setattr(typing, "SETTLE_SECONDS", 0.1)
    done = run_here("bench", "--only", "typing", "--out", "out", folder=tmp_path, script=SCRIPT)
    assert done.returncode == 0, done.stderr
    strokes = [line for line in lines(tmp_path / "out" / "results.jsonl") if line["record"] == "keystroke"]
    assert len(strokes) > 20
    assert not all(line["typed_through"] for line in strokes)
    assert "latency while typing" in done.stdout


def test_an_interrupted_run_reports_what_it_has(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT | {"step_ms": 50}))
    command = [sys.executable, "-m", "lsp_server", "bench", "--suite", "full", "--only", "quality", "--out", "out"]
    process = subprocess.Popen(
        [*command, "--model", f"scripted:{script}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    results = tmp_path / "out" / "results.jsonl"
    for _ in range(600):
        if results.exists() and '"answer"' in results.read_text():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the rest: the run was interrupted" in out
    assert any(line["record"] == "answer" for line in lines(results))
    assert "right among all" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--problems", "none.toml"), "none.toml cannot be read"),
        (("--out", "script.json/out"), "cannot be written"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run_here("bench", *arguments, folder=tmp_path, script=SCRIPT)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("model", ["nowhere/at/all/x", "llama:http://127.0.0.1:1"])
def test_a_model_that_is_not_here(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "--model", model, "--out", "out", "--only", "quality"]) != 0
    said = capsys.readouterr()
    assert model.rsplit("/", 1)[-1] in said.err + said.out
