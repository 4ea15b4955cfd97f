"""`infill-ls bench` as a person runs it: real processes with the scripted model, small parts of the quick suite."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import REPOSITORY, infill_ls

from lsp_server.cli.bench.replay.client import LspClient

SCRIPT: dict[str, object] = {
    "rules": [
        {"before": "total / ", "candidates": ["len(readings)"]},
        {"before": "", "candidates": ["value", "width, height"]},
    ]
}
ANSWERS = ("bench", "--only", "quality", "--json")


def bench(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return infill_ls(*arguments, folder=folder, script=SCRIPT)


@pytest.fixture
def problems(tmp_path: Path) -> str:
    """A small set, so that a run takes seconds."""
    text = "def f(width, height):\\n    return g(⟦width, height⟧)\\n"
    entry = f'[[problem]]\nid = "{{0}}"\nkind = "middle"\ntext = "{text}"\n'
    path = tmp_path / "own.toml"
    path.write_text("".join(entry.format(f"p{number}") for number in range(8)), encoding="utf-8")
    return str(path)


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines() if line]


def test_a_run_its_report_and_its_settings(tmp_path: Path, problems: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path / "state"))
    done = bench(tmp_path, *ANSWERS, "--problems", problems, "--out", "out", "--apply")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert list(said) == ["verdict", "report", "results", "applied", "not_measured", "doubts"]
    assert said["verdict"]["budget_ms"] == 150
    assert "<svg" in (tmp_path / said["report"]).read_text(encoding="utf-8")
    settings = json.loads(Path(said["applied"]).read_text())
    assert (settings["budgetMs"], settings["candidates"]) == (150, 4)
    assert settings["model"].endswith("script.json")
    assert settings["measured"]["reason"] == " ".join(said["verdict"]["sentences"])
    assert settings["measured"]["numbers"]["problems"] == 3
    checks = {check["name"]: check for check in json.loads(_doctor(tmp_path))["checks"]}
    assert checks["settings"]["status"] == "ok"
    assert settings["measured"]["reason"] in checks["settings"]["detail"]
    assert checks["completion"]["detail"].endswith("of 5000 ms")


def _doctor(folder: Path) -> str:
    command = [sys.executable, "-m", "lsp_server", "doctor", "--json", "--budget-ms", "5000"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def test_a_server_uses_what_was_applied(tmp_path: Path, problems: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    monkeypatch.setenv("INFILL_STATE_DIR", str(state))
    arguments = (*ANSWERS, "--problems", problems, "--out", "out")
    assert bench(tmp_path, *arguments).returncode == 0
    path = tmp_path / "out" / "results.jsonl"
    path.write_text(re.sub(r'("budget_ms": 150.0.*?"ms": )[\d.]+', r"\g<1>999", path.read_text()))  # all of them late
    applied = bench(tmp_path, *arguments, "--apply")
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


def test_the_same_folder_again_measures_nothing_twice(tmp_path: Path, problems: str) -> None:
    arguments = (*ANSWERS, "--problems", problems, "--out", "out")
    assert bench(tmp_path, *arguments).returncode == 0
    before = [line for line in lines(tmp_path / "out") if line["record"] == "answer"]
    again = bench(tmp_path, *arguments)
    assert again.returncode == 0, again.stderr
    assert [line for line in lines(tmp_path / "out") if line["record"] == "answer"] == before
    other = bench(tmp_path, *arguments, "--seed", "3")
    assert other.returncode == 2
    assert "seed" in other.stderr


def test_typing_passes_and_drift(tmp_path: Path, problems: str) -> None:
    done = bench(tmp_path, "bench", "--only", "typing", "passes", "drift", "--problems", problems, "--out", "out")
    assert done.returncode == 0, done.stderr
    records = lines(tmp_path / "out")
    counts = {name: sum(line["record"] == name for line in records) for name in ("keystroke", "pass", "generation")}
    assert counts["keystroke"] == 60 + 40 + 8 + 20
    assert 60 + 60 <= counts["generation"] <= 240 + 60
    own, recycled = ([line["process"] for line in records if line.get("recycled") is each] for each in (False, True))
    assert len(set(own)) == 1
    assert [len(list(life)) for _, life in itertools.groupby(recycled)] == [10] * 6
    assert not set(own) & set(recycled)
    assert counts["pass"] >= 6 * 12
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
    assert any(line["record"] == "answer" for line in lines(tmp_path / "out"))
    assert (tmp_path / "out" / "report.html").exists()


def test_two_runs_are_compared(tmp_path: Path, problems: str) -> None:
    for name in ("a", "b"):
        assert bench(tmp_path, *ANSWERS, "--problems", problems, "--out", name).returncode == 0
    command = [sys.executable, "-m", "lsp_server", "bench", "compare"]

    def compare(*arguments: str) -> "subprocess.CompletedProcess[str]":
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        return subprocess.run([*command, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)

    same = compare("a", "b", "--fail-on-loss")
    assert same.returncode == 0, same.stderr
    assert "right first" in same.stdout
    assert json.loads(compare("a", "b", "--json").stdout)["loss"] is False
    worse = tmp_path / "b" / "results.jsonl"
    worse.write_text(worse.read_text().replace('"right": [false, true]', '"right": [false, false]'))
    lost = compare("a", "b", "--fail-on-loss", "--json")
    assert json.loads(lost.stdout)["differences"][1]["estimate"]["value"] == -1
    nothing = compare("a", str(tmp_path / "own.toml"))
    assert nothing.returncode == 2
    assert "holds no results" in nothing.stderr


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
    done = bench(tmp_path, "bench", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize("model", ["nowhere/at/all/x", "llama:http://127.0.0.1:1"])
def test_a_model_that_is_not_here(tmp_path: Path, model: str) -> None:
    command = [sys.executable, "-m", "lsp_server", "bench", "--model", model, "--out", "out", "--only", "quality"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert model.rsplit("/", 1)[-1] in done.stderr + done.stdout
