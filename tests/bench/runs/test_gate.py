"""The quality of the small model in a fixed number of passes, against committed results: no loss may be significant.

No clock limits these answers, so a busy or slow machine gives the same ones. After a change that is meant to alter
them, run `python -m bench.runs gate --model small --out bench/results/gate` in place of the old results.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.runs import __main__ as command
from bench.runs.comparison import compare
from infill_engine.diagnostics.benchmark.results import NAME, read_results

REPOSITORY = Path(__file__).parents[3]
COMMITTED = REPOSITORY / "bench" / "results" / "gate"


def compared(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the command that compares, and return its exit status."""
    monkeypatch.setattr("sys.argv", ["runs", "compare", *map(str, arguments)])
    return command.main()


def test_quality_has_not_become_worse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = [sys.executable, "-m", "bench.runs", "gate", "--model", "small", "--out", str(tmp_path)]
    ran = subprocess.run(gate, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    status = compared(monkeypatch, COMMITTED, tmp_path, "--fail-on-loss", "--json")
    said = capsys.readouterr()
    assert status == 0, said.out + said.err
    differences = json.loads(said.out)
    assert {each["pairs"] for each in differences["differences"]} == {78}
    assert not [doubt for doubt in differences["doubts"] if "problems" in doubt], "the problems have changed; see above"

    # The same answers, each as if it were wrong, are a significant loss of right texts among all.
    path = tmp_path / NAME
    path.write_text(path.read_text().replace("[true", "[false").replace(", true", ", false"))
    found = compare(read_results(COMMITTED), read_results(path))
    assert [each.is_loss for each in found if each.what.endswith("among all")] == [True]
    assert compared(monkeypatch, COMMITTED, tmp_path, "--fail-on-loss") == 1
    assert "LOSS" in capsys.readouterr().out
    assert compared(monkeypatch, COMMITTED, REPOSITORY / "README.md") == 2
    assert "holds no results" in capsys.readouterr().err
