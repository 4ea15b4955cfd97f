"""`infill-ls engine`: engines of scripted servers are shown and ended."""

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from capabilities import VSCODE
from editor import editor


@pytest.fixture(autouse=True)
def own_folder(engine_folder: Path) -> Path:
    return engine_folder


def engine(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-m", "lsp_server", "engine", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_without_an_engine() -> None:
    assert engine("status") == (0, "no engine runs\n")
    assert engine("status", "--json") == (0, "[]\n")
    assert engine("stop") == (0, "no engine runs\n")


def test_a_folder_that_others_can_enter(own_folder: Path) -> None:
    own_folder.chmod(0o755)
    status, said = engine("status")
    assert status == 2
    assert "chmod 700" in said


async def test_two_windows_and_their_engine(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [{"before": "x = ", "candidates": ["alpha(1)"]}]}))
    options = {"model": f"scripted:{script}", "budgetMs": 60_000}
    async with editor(VSCODE, options=options) as one, editor(VSCODE, options=options) as other:
        for window in (one, other):
            await window.ready()
            assert await window.ask(window.open("x = │")) == ["alpha(1)"]
        status, said = engine("status", "--json")
        (seen,) = json.loads(said)
        assert (status, seen["clients"], seen["state"]) == (0, 2, "ready")
        assert seen["answers"] >= 2
        assert seen["memory_bytes"] > 0
        said = engine("status")[1]
        assert "clients  2" in said
        assert "█" in said
        del one.statuses[:], other.statuses[:]
        status, said = engine("restart", "--json")
        assert json.loads(said) == {"ended": [seen["pid"]]}
        assert not psutil.pid_exists(seen["pid"])
        for window in (one, other):
            await window.ready()
            uri = window.open("x = │", "file:///project/again.py")
            assert await window.ask(uri) == ["alpha(1)"]
            assert not [message for message in window.messages if "restarted" in message]
