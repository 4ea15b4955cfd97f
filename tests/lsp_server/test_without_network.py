"""Server and engine in a network namespace without any network still complete."""

import asyncio
import shutil
import subprocess
from typing import Any

import editor as editor_module
import psutil
import pytest
from capabilities import VSCODE
from editor import SERVER, editor


def _unshare() -> tuple[str, ...] | None:
    program = shutil.which("unshare")
    for options in (("-n",), ("-rn",)):
        if program and subprocess.run([program, *options, "true"], capture_output=True).returncode == 0:
            return program, *options
    return None


UNSHARE = _unshare()


@pytest.mark.skipif(UNSHARE is None, reason="this system does not allow a network namespace")
async def test_a_completion_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    assert UNSHARE is not None
    monkeypatch.setattr(editor_module, "SERVER", (*UNSHARE, *SERVER))
    async with editor(VSCODE, options={"model": "scripted", "budgetMs": 60_000}) as window:
        await window.ready()
        assert _interfaces(window.client._server.pid) == {"lo"}
        uri = window.open("def area(width, height):\n    return width * height\n\n\nsize = area(width, │)\n")
        found: Any = None
        async with asyncio.timeout(editor_module.WAIT):
            while not found:
                found = (await window.candidates(uri)).candidates
        assert found


def _interfaces(server: int) -> set[str]:
    """What the server and its engine can reach."""
    pids = [server, *(child.pid for child in psutil.Process(server).children(recursive=True))]
    assert len(pids) > 1
    names = set()
    for pid in pids:
        with open(f"/proc/{pid}/net/dev") as lines:
            names |= {line.split(":")[0].strip() for line in list(lines)[2:]}
    return names
