"""Starts a workbench with the extension in it, and ends it with all its processes."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from driver.browser import CACHE, NODE, Browser
from driver.workbench import WAIT, Running, Workbench, processes_below

EDITOR = {
    "breadcrumbs.enabled": False,
    "chat.disableAIFeatures": True,
    "editor.accessibilitySupport": "off",
    "editor.autoIndent": "none",
    "editor.autoClosingBrackets": "never",
    "editor.autoClosingQuotes": "never",
    "editor.fontFamily": "DejaVu Sans Mono",
    "editor.minimap.enabled": False,
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.suggestOnTriggerCharacters": False,
    "editor.useTabStops": False,
    "editor.wordBasedSuggestions": "currentDocument",
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "files.autoSave": "off",
    "files.eol": "\n",
    "files.readonlyInclude": {"**/read_only*": True},
    "security.workspace.trust.banner": "never",
    "security.workspace.trust.startupPrompt": "always",
    "telemetry.telemetryLevel": "off",
    "window.commandCenter": False,
    "workbench.activityBar.location": "hidden",
    "workbench.colorTheme": "Default Dark Modern",
    "workbench.editor.empty.hint": "hidden",
    "workbench.layoutControl.enabled": False,
    "workbench.reduceMotion": "on",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}

KEYS = [
    {"key": "f5", "command": "infill.nextEdit"},
    {"key": "f9", "command": "workbench.action.revertAndCloseActiveEditor"},
    {"key": "f8", "command": "workbench.action.files.newUntitledFile"},
    {"key": "f7", "command": "notifications.clearAll"},
    {"key": "f6", "command": "editor.action.insertSnippet", "args": {"snippet": "f(${1:a}, ${2:b})$0"}},
]


@contextlib.contextmanager
def workbench(scratch: Path, settings: dict[str, Any], extensions: Path = CACHE / "extensions") -> Iterator[Workbench]:
    """A workbench with the extensions of a folder and these settings of our section; ended with all its processes."""
    folder, user_data = scratch / "project", scratch / "user-data"
    for path in (folder, user_data / "User", user_data / "Machine"):
        path.mkdir(parents=True)
    (user_data / "User" / "settings.json").write_text(json.dumps(EDITOR))
    (user_data / "User" / "keybindings.json").write_text(json.dumps(KEYS))
    port = _free_port()
    temporary = tempfile.mkdtemp(prefix="vs-")  # the path of a socket in it must be short
    with (scratch / "code-server.log").open("wb") as log:
        server = subprocess.Popen(
            [
                str(NODE),
                str(CACHE / "node_modules/code-server/out/node/entry.js"),
                *_options(port, user_data, extensions),
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**_environment(scratch), "TMPDIR": temporary},
            start_new_session=True,
        )
    browser, ours = Browser(), extensions == CACHE / "extensions"
    try:
        _wait_for(f"http://127.0.0.1:{port}/healthz", scratch / "code-server.log")
        running = Running(f"http://127.0.0.1:{port}/", browser, scratch, user_data, Path(temporary), server, ours)
        made = Workbench(running, folder)
        made.configure(settings)
        made.enter(f"folder={folder}")
        yield made
    finally:
        browser.close()
        _end(server)
        shutil.rmtree(temporary, ignore_errors=True)


def _options(port: int, user_data: Path, extensions: Path) -> list[str]:
    return [
        *("--auth", "none", "--bind-addr", f"127.0.0.1:{port}"),
        *("--disable-telemetry", "--disable-update-check"),
        *("--disable-getting-started-override", "--user-data-dir", str(user_data)),
        *("--extensions-dir", str(extensions)),
    ]


def _environment(scratch: Path) -> dict[str, str]:
    """Without infill-ls on the PATH, with one Python on it; what the server needs is found where it is now.

    So the wheel is installed as users install it, without its requirements, which would be downloaded.
    """
    bin_folder, tools = scratch / "bin", scratch / "tools"
    bin_folder.mkdir()
    tools.mkdir()
    for name in {tool.name for folder in ("/usr/bin", "/bin") for tool in Path(folder).iterdir()}:
        if not name.startswith("python"):
            (tools / name).symlink_to(f"/usr/bin/{name}" if Path(f"/usr/bin/{name}").exists() else f"/bin/{name}")
    (bin_folder / "python3").symlink_to(getattr(sys, "_base_executable", sys.executable))
    packages = Path(psutil.__file__).parents[1]
    home = scratch / "home"
    home.mkdir()
    return {
        "EXTENSIONS_GALLERY": "{}",  # nothing is to be asked of a marketplace
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",
        "PATH": f"{bin_folder}:{NODE.parent}:{tools}",
        "PIP_NO_DEPS": "1",
        "PYTHONPATH": str(packages),
        "VSCODE_CLI": "1",  # keep this PATH; otherwise a login shell is asked for another
    }


def _wait_for(url: str, log: Path) -> None:
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5):
            return
        time.sleep(0.1)
    raise AssertionError(f"code-server does not answer: {log.read_text()[-2000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _end(server: "subprocess.Popen[bytes]") -> None:
    """End code-server and whatever it has started: the extension host lives in a session of its own."""
    processes = processes_below(server.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
    _, alive = psutil.wait_procs([*processes, psutil.Process(server.pid)] if server.poll() is None else processes, 5)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    server.wait(10)
