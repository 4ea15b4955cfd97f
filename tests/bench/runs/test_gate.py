"""The gate: answers in a fixed number of passes, compared with those of another build; a significant loss fails."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bench.runs import __main__ as command
from infill_engine.diagnostics.benchmark.results import NAME

REPOSITORY = Path(__file__).parents[3]


def compared(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the command that compares, and return its exit status."""
    monkeypatch.setattr("sys.argv", ["runs", "compare", *map(str, arguments)])
    return command.main()


def run_gate(model: str, out: Path) -> None:
    gate = [sys.executable, "-m", "bench.runs", "gate", "--model", model, "--out", str(out)]
    ran = subprocess.run(gate, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_default_model_answers_as_well_as_when_it_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_gate("default", tmp_path / "now")
    assert compared(monkeypatch, REPOSITORY / "bench/results/gate", tmp_path / "now", "--fail-on-loss") == 0, (
        capsys.readouterr().out
    )


def test_a_loss_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now, better = tmp_path / "now", tmp_path / "better"
    run_gate("scripted", now)
    shutil.copytree(now, better)
    path = better / NAME
    path.write_text(path.read_text().replace("[false", "[true").replace(", false", ", true"))

    assert compared(monkeypatch, better, now, "--fail-on-loss") == 1
    assert "LOSS" in capsys.readouterr().out
    assert compared(monkeypatch, better, now) == 0
    capsys.readouterr()
    assert compared(monkeypatch, now, better, "--fail-on-loss", "--json") == 0
    differences = json.loads(capsys.readouterr().out)["differences"]
    assert {each["pairs"] for each in differences} == {78}
    assert compared(monkeypatch, now, REPOSITORY / "README.md") == 2
    assert "holds no results" in capsys.readouterr().err
