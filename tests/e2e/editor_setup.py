"""Finds the editors of the tests: the `setup` beside them prints where one is that is new enough."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SETUP_SECONDS = 300


class SetupError(Exception):
    """There is no editor to test with, and the text says why."""


def set_up(folder: Path) -> str:
    """The path that the folder's `setup` prints. Raises SetupError."""
    setup = [str(folder / "setup")]
    environment = {**os.environ, "PYTHON": sys.executable}
    try:
        ran = subprocess.run(setup, env=environment, capture_output=True, text=True, timeout=SETUP_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise SetupError(f"{setup[0]}: {fault}") from fault
    if ran.returncode:
        raise SetupError(ran.stderr.strip() or f"{setup[0]} ended with {ran.returncode}")
    return ran.stdout.strip()


def set_up_or_skip(folder: Path, editor: str, untested: str) -> str:
    """The same. Without the editor the test is skipped, loudly; with INFILL_E2E=1 it fails."""
    try:
        return set_up(folder)
    except SetupError as reason:
        if os.environ.get("INFILL_E2E") == "1":
            pytest.fail(f"no {editor} to test with: {reason}")
        pytest.skip(f"NO {editor.upper()}, so {untested}: {reason}")
