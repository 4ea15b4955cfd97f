"""The quality of the small model in a fixed number of passes, against committed results: no loss may be significant.

No clock limits these answers, so a busy or slow machine gives the same ones. After a change that is meant to alter
them, run `infill-ls bench --suite gate --model small --out bench/results/gate` in place of the old results.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import REPOSITORY

from infill_engine.diagnostics.benchmark.comparison import compare
from infill_engine.diagnostics.benchmark.results import NAME, read_results
from lsp_server.__main__ import main

COMMITTED = REPOSITORY / "bench" / "results" / "gate"


def test_quality_has_not_become_worse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "lsp_server", "bench", "--suite", "gate", "--model", "small"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ran = subprocess.run(
        [*command, "--out", str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    status = main(["bench", "compare", str(COMMITTED), str(tmp_path), "--fail-on-loss", "--json"])
    compared = capsys.readouterr()
    assert status == 0, compared.out + compared.err
    said = json.loads(compared.out)
    assert {each["pairs"] for each in said["differences"]} == {78}
    assert not [doubt for doubt in said["doubts"] if "problems" in doubt], "the problems have changed; see above"

    # The same answers, each as if it were wrong, are a significant loss of right texts among all.
    path = tmp_path / NAME
    path.write_text(path.read_text().replace("[true", "[false").replace(", true", ", false"))
    found = compare(read_results(COMMITTED), read_results(path))
    assert [each.is_loss for each in found if each.what.endswith("among all")] == [True]
