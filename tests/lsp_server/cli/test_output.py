"""Where the output goes, and what becomes of a command whose output cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lsp_server.settings.schema import Precision

REPOSITORY = Path(__file__).parents[3]


def infill(tmp_path: Path, arguments: str, redirected: str = "") -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m lsp_server {arguments} {redirected}"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "INFILL_STATE_DIR": str(tmp_path)}
    return subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
def test_a_full_disk_is_said(tmp_path: Path) -> None:
    done = infill(tmp_path, "stats", ">/dev/full")
    assert done.returncode == 1
    assert done.stderr == "infill-ls: the output cannot be written: No space left on device\n"


def test_a_closed_output_is_no_fault(tmp_path: Path) -> None:
    done = infill(tmp_path, "stats", ">&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_reader_that_has_seen_enough_is_no_fault(tmp_path: Path) -> None:
    done = infill(tmp_path, "stats", "| true")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"touch {tmp_path}/x.py && rmdir {gone} && {sys.executable} -m lsp_server complete {tmp_path}/x.py:1:1"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "INFILL_STATE_DIR": str(tmp_path)}
    done = subprocess.run(["sh", "-c", command], cwd=gone, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "infill-ls: the current folder no longer exists; change to another one\n"


def test_choices_are_shown_as_they_are_written(tmp_path: Path) -> None:
    done = infill(tmp_path, "complete x.py:1:1 --precision x")
    assert done.returncode == 2
    assert ", ".join(f"'{each.value}'" for each in Precision) in done.stderr


def test_the_version(tmp_path: Path) -> None:
    done = infill(tmp_path, "--version")
    assert done.returncode == 0
    assert done.stdout.startswith("infill-ls ")
