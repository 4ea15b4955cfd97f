"""`infill-ls bench` with the scripted model: small parts of the quick suite."""

import itertools
import json
import os
import re
import shutil
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

from infill_engine.diagnostics.benchmark import machine
from infill_engine.diagnostics.benchmark.suites.plan import PLANS, QUICK, Typing
from lsp_server.__main__ import main
from lsp_server.cli.bench.replay import latency
from lsp_server.cli.bench.replay.client import LspClient

SCRIPT: dict[str, object] = {
    "rules": [
        {"before": "total / ", "candidates": ["len(readings)"]},
        {"before": "", "candidates": ["value", "width, height"]},
    ]
}
ANSWERS = ("bench", "--only", "quality", "--json")
PROBLEMS = "own.toml"
# What the quick suite does, less often.
SHORT = replace(
    QUICK,
    typing=(Typing(200, 20, 10, 8), Typing(20_000, 5, 0, 0)),
    generations=60,
    processes=3,
    pass_seconds=0.1,
)


@dataclass(frozen=True)
class Measured:
    """A finished run in the subfolder `out`, with what it printed. Its settings file is in `state`."""

    folder: Path
    printed: str

    def copied(self, name: str) -> Path:
        """Return a copy of the run's results, in another subfolder."""
        shutil.copytree(self.folder / "out", self.folder / name)
        return self.folder / name / "results.jsonl"

    def again(self, name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the same command again, with results in a subfolder."""
        arguments = (*ANSWERS, "--problems", PROBLEMS, "--out", name, *arguments)
        return run_here(*arguments, folder=self.folder, script=SCRIPT)


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
    assert list(said) == ["verdict", "report", "results", "applied", "not_measured", "doubts"]
    assert said["verdict"]["budget_ms"] == 150
    assert "<svg" in (measured.folder / said["report"]).read_text(encoding="utf-8")
    settings = json.loads(Path(said["applied"]).read_text())
    assert (settings["budgetMs"], settings["candidates"]) == (150, 4)
    assert settings["model"].endswith("script.json")
    assert settings["measured"]["reason"] == " ".join(said["verdict"]["sentences"])
    assert settings["measured"]["numbers"]["problems"] == 3
    checks = {check["name"]: check for check in json.loads(_doctor(measured.folder))["checks"]}
    assert checks["settings"]["status"] == "ok"
    assert settings["measured"]["reason"] in checks["settings"]["detail"]
    assert checks["completion"]["detail"].endswith("of 5000 ms")


def _doctor(folder: Path) -> str:
    command = [sys.executable, "-m", "lsp_server", "doctor", "--json", "--budget-ms", "5000"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_server_uses_what_was_applied(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    state = measured.folder / "other"
    monkeypatch.setenv("INFILL_STATE_DIR", str(state))
    path = measured.copied("late")
    path.write_text(re.sub(r'("budget_ms": 150.0.*?"ms": )[\d.]+', r"\g<1>999", path.read_text()))  # all of them late
    applied = measured.again("late", "--apply")
    assert applied.returncode == 0, applied.stderr
    assert json.loads(applied.stdout)["verdict"]["budget_ms"] == 300

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


def test_the_same_folder_again_measures_nothing_twice(measured: Measured) -> None:
    results = measured.copied("same")
    before = [line for line in lines(results) if line["record"] == "answer"]
    assert before
    again = measured.again("same")
    assert again.returncode == 0, again.stderr
    assert [line for line in lines(results) if line["record"] == "answer"] == before
    other = measured.again("same", "--seed", "3")
    assert other.returncode == 2
    assert "seed" in other.stderr


def test_typing_passes_and_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLANS, "quick", SHORT)
    monkeypatch.setattr(latency, "SETTLE_SECONDS", 0.1)
    write_problems(tmp_path)
    parts = ("--only", "typing", "passes", "drift")
    # The engine is told to send previews while it computes; without steps that take time, it is done before that.
    script = {**SCRIPT, "steps": 3, "step_ms": 10}
    done = run_here("bench", *parts, "--problems", PROBLEMS, "--out", "out", folder=tmp_path, script=script)
    assert done.returncode == 0, done.stderr
    records = lines(tmp_path / "out" / "results.jsonl")
    counts = {name: sum(line["record"] == name for line in records) for name in ("keystroke", "pass", "generation")}
    assert counts["keystroke"] == 20 + 10 + 8 + 5
    assert counts["generation"] == SHORT.generations + SHORT.processes * SHORT.life
    own, recycled = ([line["process"] for line in records if line.get("recycled") is each] for each in (False, True))
    assert len(set(own)) == 1
    assert [len(list(life)) for _, life in itertools.groupby(recycled)] == [SHORT.life] * SHORT.processes
    assert not set(own) & set(recycled)
    assert counts["pass"] >= SHORT.processes * 12
    timed = [line for line in records if line["record"] in ("pass", "generation")]
    assert all(line["cpu_ms"] > 0 < line["reference_ms"] for line in timed)
    first = [line["first_ms"] for line in records if line.get("loop") == "preview"]
    assert any(first)
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "How soon an answer with candidates arrives" in report
    assert "In recycled processes, " in report


def test_an_interrupted_run_says_how_it_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(SCRIPT))
    command = [sys.executable, "-m", "lsp_server", "bench", "--only", "quality", "--out", "out"]
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
    assert "To go on: infill-ls bench --suite quick --out out" in out
    assert any(line["record"] == "answer" for line in lines(results))
    assert (tmp_path / "out" / "report.html").exists()


def test_two_runs_are_compared(
    measured: Measured, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(measured.folder)
    measured.copied("a")
    worse = measured.copied("b")

    def compare(*arguments: str, status: int) -> tuple[str, str]:
        assert main(["bench", "compare", *arguments]) == status
        said = capsys.readouterr()
        return said.out, said.err

    assert "right first" in compare("a", "b", "--fail-on-loss", status=0)[0]
    assert json.loads(compare("a", "b", "--json", status=0)[0])["loss"] is False
    worse.write_text(worse.read_text().replace('"right": [false, true]', '"right": [false, false]'))
    lost = compare("a", "b", "--json", status=0)[0]
    assert json.loads(lost)["differences"][1]["estimate"]["value"] == -1
    assert "holds no results" in compare("a", PROBLEMS, status=2)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--problems", "none.toml"), "none.toml cannot be read"),
        (("--out", "script.json/out"), "cannot be written"),
        (("--gguf", "none.gguf"), "none.gguf does not exist"),
        (("--llama-server", "./none"), "./none cannot be run"),
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
