"""What tests of the editors in editors/others.md share: documented configurations, settings, and a terminal."""

import contextlib
import json
import os
import pty
import re
import socket
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
SIZE = (40, 120)  # lines and columns of a terminal


def documented(title: str) -> str:
    """The configuration that others.md gives under a title."""
    page = (REPOSITORY / "editors" / "others.md").read_text()
    found = re.search(rf"## {re.escape(title)}\n.*?```[^\n]*\n(.*?)```", page, re.DOTALL)
    assert found
    return found[1]


def write_settings(folder: Path, script: Mapping[str, Any]) -> None:
    """Write a user's settings, with an engine that says what is in the script. INFILL_STATE_DIR names the folder."""
    said = folder / "script.json"
    said.write_text(json.dumps(script))
    settings = {"model": f"scripted:{said}", "budgetMs": 5000, "showThreshold": 0}
    (folder / "settings.json").write_text(json.dumps(settings))


@contextlib.contextmanager
def in_terminal(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], listener: socket.socket, seconds: float
) -> Iterator[tuple[int, socket.socket]]:
    """A program in a terminal of its own. Yields the terminal's file descriptor and the program's connection."""
    inner, outer = pty.openpty()
    termios.tcsetwinsize(outer, SIZE)
    process = subprocess.Popen(
        ["setsid", "--ctty", *command], stdin=outer, stdout=outer, stderr=outer, cwd=folder, env=environment
    )
    os.close(outer)
    threading.Thread(target=_discard, args=(inner,), daemon=True).start()
    try:
        listener.settimeout(seconds)
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(seconds)
            yield inner, connection
    finally:
        process.kill()
        process.wait(seconds)
        os.close(inner)


def _discard(terminal: int) -> None:
    """Read what the program draws, so that it never waits for its terminal."""
    with contextlib.suppress(OSError):
        while os.read(terminal, 65_536):
            pass
