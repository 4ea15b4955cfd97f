"""The program as a person runs it, with the scripted model: a real process, or its `main` in this one."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

from lsp_server.__main__ import main

REPOSITORY = Path(__file__).parents[3]
SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)", "gamma(3)"]},
        {"before": "def f():\n    ", "candidates": ["for item in items:\n        print(item)"]},
        {"before": "silent ", "candidates": []},
        {"before": "", "candidates": ["anything"]},
    ]
}


def infill_ls(
    *arguments: str, folder: Path, script: dict[str, object] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run a sub-command in `folder`, its model saying what `script` says."""
    return subprocess.run(
        [sys.executable, "-m", "lsp_server", *_with_model(arguments, folder, script)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def run_here(
    *arguments: str, folder: Path, script: dict[str, object] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Do what `infill_ls` does in this process, which has imported all that takes long."""
    given = _with_model(arguments, folder, script)
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        mock.patch.dict(os.environ),  # commands set how many threads libraries use
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = main(given)
        except SystemExit as leave:  # of argparse
            status = int(leave.code or 0)
    said = [stream.seek(0) or stream.read() for stream in (out, err)]
    return subprocess.CompletedProcess(given, status, *said)


def _with_model(arguments: tuple[str, ...], folder: Path, script: dict[str, object] | None) -> list[str]:
    path = folder / "script.json"
    path.write_text(json.dumps(script or SCRIPT), encoding="utf-8")
    return [*arguments, "--model", f"scripted:{path.name}"]
