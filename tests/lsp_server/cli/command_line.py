"""The program as a person runs it: a real process with the scripted model."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
    path = folder / "script.json"
    path.write_text(json.dumps(script or SCRIPT), encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-m", "lsp_server", *arguments, "--model", f"scripted:{path.name}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONIOENCODING": "utf-8", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
