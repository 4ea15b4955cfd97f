"""A full run that is killed goes on where it was: nothing is lost, and nothing is measured twice."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from command_line import REPOSITORY

from infill_engine.diagnostics.benchmark.results import Record, read_results

PROBLEM = '[[problem]]\nid = "p{0}"\nkind = "middle"\ntext = "print(⟦value{0}⟧)"\n'
PROBLEMS = 3
UNITS_BEFORE = 3  # that are finished when the run is killed
WAIT_SECONDS = 100


def test_a_full_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("".join(map(PROBLEM.format, range(PROBLEMS))), encoding="utf-8")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [{"before": "", "candidates": ["value1", "value2"]}]}))
    command = [sys.executable, "-m", "lsp_server", "bench", "--suite", "full", "--only", "quality", "--out", "out"]
    command += ["--problems", "own.toml", "--model", f"scripted:{script}"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    path = tmp_path / "out" / "results.jsonl"

    killed = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until and (not path.exists() or path.read_text().count('"done"') < UNITS_BEFORE):
        time.sleep(0.01)
    killed.kill()
    killed.wait()
    written = path.read_bytes()
    before = read_results(path)
    assert len(before.finished) >= UNITS_BEFORE

    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert path.read_bytes().startswith(written)
    after = read_results(path)
    assert len(after.finished) > len(before.finished)  # otherwise it was killed too late for this test
    assert [line for line in after.of("answer") if line["unit"] in before.finished] == [
        line for line in before.of("answer") if line["unit"] in before.finished
    ]
    done = Counter(line["unit"] for line in _lines(path.read_bytes()) if line["record"] == "done")
    assert set(done.values()) == {1}
    begun = Counter(line["unit"] for line in _lines(path.read_bytes()) if line["record"] == "begin")
    assert {unit for unit, times in begun.items() if times > 1} <= {_last_begun(written)}
    asked = Counter((line["unit"], line["problem"]) for line in after.of("answer"))
    assert set(asked.values()) == {1}
    assert len(asked) == PROBLEMS * len(after.finished)
    assert not [line for line in after.of("missing") if line["what"].startswith("quality")]


def _last_begun(written: bytes) -> str:
    return [str(line["unit"]) for line in _lines(written) if line["record"] == "begin"][-1]


def _lines(written: bytes) -> list[Record]:
    """All whole lines: the one that was being written when the run was killed may be cut."""
    return [json.loads(line) for line in written.splitlines() if line.startswith(b"{") and line.endswith(b"}")]
