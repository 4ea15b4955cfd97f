"""A real Kate, configured as editors/others.md says, on a screen that nobody sees. Skipped unless it is installed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from other_editors import REPOSITORY, documented, write_settings

PROGRAMS = ("kate", "Xvfb", "xdotool", "dbus-run-session")
SCRIPT = {
    "rules": [
        {"before": f"x = {typed}", "candidates": [f"{'alpha'[len(typed) :]}(1)"]} for typed in ("", *"a al alp".split())
    ]
}
WAIT, POLL = 180, 0.5
FIRST_SECONDS, MOST_SECONDS = 3.0, 20.0  # for the list to appear
KATERC = """[Kate Plugins]
lspclientplugin=true

[lspclient]
AllowedServerCommandLines={server}

[General]
Show welcome view for new window=false
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        pytest.skip(f"NO {', '.join(missing).upper()}, so Kate was not tested")
    server = f"{Path(sys.executable).parent}/infill-ls"
    configuration = tmp_path / ".config" / "kate" / "lspclient" / "settings.json"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(documented("Kate").replace('"infill-ls"', json.dumps(server)))
    (tmp_path / ".config" / "katerc").write_text(KATERC.format(server=server))
    write_settings(tmp_path, SCRIPT)
    (tmp_path / "runtime").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("LANG", "C.UTF-8")
    return tmp_path


@pytest.fixture
def screen(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    inner, outer = os.pipe()
    process = subprocess.Popen(["Xvfb", "-displayfd", str(outer), "-screen", "0", "1000x700x24"], pass_fds=[outer])
    os.close(outer)
    with open(inner) as number:
        monkeypatch.setenv("DISPLAY", f":{number.readline().strip()}")
    yield
    process.terminate()
    process.wait(WAIT)


@pytest.mark.usefixtures("screen")
def test_what_is_offered_is_taken(home: Path) -> None:
    file = home / "first.py"
    file.write_text("x = \n")
    with (home / "log").open("wb") as log:
        kate = subprocess.Popen(
            ["dbus-run-session", "--", "kate", "-n", "-b", str(file)], stdout=log, stderr=log, start_new_session=True
        )
    try:
        end = time.monotonic() + WAIT
        while not (window := _said("search", "--onlyvisible", "--name", file.name)):
            assert time.monotonic() < end
            time.sleep(POLL)
        _said("windowfocus", window.split()[0])
        seconds = FIRST_SECONDS
        while file.read_text() != "x = alpha(1)\n":  # nobody tells when the engine is ready
            assert time.monotonic() < end, (file.read_text(), (home / "log").read_text())
            _said("key", "ctrl+a")
            _said("type", "--delay", "100", "x = alp")
            time.sleep(seconds)
            seconds = min(MOST_SECONDS, 1.5 * seconds)
            _said("key", "Tab")
            _said("key", "ctrl+s")
            time.sleep(POLL)
    finally:
        os.killpg(kate.pid, signal.SIGKILL)
        kate.wait(WAIT)


def _said(*command: str) -> str:
    return subprocess.run(["xdotool", *command], capture_output=True, text=True, check=False).stdout
