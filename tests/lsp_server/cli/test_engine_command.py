"""`infill-ls engine`: engines of scripted servers are shown and ended."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from capabilities import VSCODE
from editor import editor
from prometheus_client.parser import text_string_to_metric_families


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
    assert list(parsed(engine("metrics")[1])) == []


def test_a_folder_that_others_can_enter(own_folder: Path) -> None:
    own_folder.chmod(0o755)
    status, said = engine("status")
    assert status == 2
    assert "chmod 700" in said


def parsed(text: str) -> Iterator[Any]:
    for family in text_string_to_metric_families(text):
        yield from family.samples


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
        assert "% computed before" in said
        assert "█" in said
        samples = {sample.name: sample for sample in parsed(engine("metrics")[1])}
        assert samples["infill_engine_clients"].value == 2
        assert "infill_engine_requests_ahead_total" in samples
        assert samples["infill_engine_latency_seconds_count"].value == samples["infill_engine_answers_total"].value
        assert samples["infill_engine_answers_total"].labels["pid"] == str(seen["pid"])
        del one.statuses[:], other.statuses[:]
        status, said = engine("restart", "--json")
        assert json.loads(said) == {"ended": [seen["pid"]]}
        assert not psutil.pid_exists(seen["pid"])
        for window in (one, other):
            await window.ready()
            uri = window.open("x = │", "file:///project/again.py")
            assert await window.ask(uri) == ["alpha(1)"]
            assert not [message for message in window.messages if "restarted" in message]
