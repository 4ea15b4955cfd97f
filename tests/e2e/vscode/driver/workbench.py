"""What a user does in a VS Code workbench and what it shows."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from driver.browser import CACHE, Browser
from driver.screen import PALETTE, Screen, Seen

REPOSITORY = Path(__file__).parents[4]
IMAGES = REPOSITORY / "editors" / "vscode" / "images"
CURSOR = "│"
PRESSES = 4
WAIT = 90  # seconds after which a test has failed
STEADY_LOOKS = 3  # that see the same, 50 ms apart

_MOVING = """() => document.getAnimations().filter(animation => animation.playState === 'running'
    && animation.effect.getComputedTiming().iterations !== Infinity).length"""
_TAB = "() => document.querySelector('.tab.active')?.dataset.resourceName ?? ''"
_FOCUSED = ".quick-input-list .monaco-list-row.focused .label-name"
# What the next key, Enter, runs in the palette. A palette that has lost the focus is closed: then nobody gets the key.
_NOTE_CHOICE = f"""() => {{
    window.chosen = '';
    window.addEventListener('keydown', event => {{
        const palette = document.activeElement?.closest('.quick-input-widget');
        window.chosen = palette?.querySelector('{_FOCUSED}')?.textContent.replaceAll('\\u00a0', ' ') ?? '';
        if (!palette) {{
            event.preventDefault();
            event.stopImmediatePropagation();
        }}
    }}, {{ capture: true, once: true }});
}}"""
# VS Code shows no toasts while the notification center is open: what is told then is told there.
_CENTER = ".notifications-center.visible"
_MESSAGES = f":is(.notification-toast, {_CENTER})"


@dataclass(frozen=True)
class Running:
    """A VS Code server and the folders it was given. `ours`: our extension is installed."""

    url: str
    browser: Browser
    scratch: Path
    user_data: Path
    temporary: Path
    process: "subprocess.Popen[bytes]"
    ours: bool


class Workbench(Screen):
    """One window on one folder."""

    def __init__(self, running: Running, folder: Path) -> None:
        self.running = running
        self.browser = running.browser.page()
        self.folder = folder
        self.environments = running.user_data / "User/globalStorage/infill-ls.infill"
        self._machine = running.user_data / "Machine" / "settings.json"
        self._socket = Path()
        self._settings: dict[str, Any] = {}
        self._others: dict[str, Any] = {}
        self._writes = 0

    def enter(self, what: str, *, trusted: bool | None = True) -> None:
        """Open the window on a folder or workspace, as in "folder=/path".

        VS Code asks whether its authors are trusted, unless it knows: then `trusted` is None.
        """
        before = self._sockets()
        self.browser.call("goto", f"{self.running.url}?{what}", {"waitUntil": "domcontentloaded"})
        if trusted is not None:
            self.browser.call("click", f".monaco-dialog-box .monaco-button:has-text('{'Yes' if trusted else 'No'}')")
        self.until(
            lambda: bool(self.status() or not self.running.ours) and bool(self._sockets() - before),
            "the extension's item in the status bar",
        )
        [self._socket] = self._sockets() - before
        if what.startswith("workspace=") and not self._has_folders():
            # VS Code in a browser now and then reads a workspace too early and then believes that it is empty.
            self.enter(what, trusted=trusted)
            return
        self.press("Control+b")  # the side bar

    def another(self, what: str, folder: Path, *, trusted: bool | None = None) -> "Workbench":
        """Another window, with a page and an extension host of its own."""
        made = Workbench(self.running, folder)
        made.enter(what, trusted=trusted)
        return made

    def leave(self) -> None:
        """Close the window."""
        self.browser.call("close", {"runBeforeUnload": True})

    def _has_folders(self) -> bool:
        folders, none = ".explorer-folders-view .monaco-list-row", ".explorer-viewlet .welcome-view-content"
        self.until(lambda: bool(self.texts(folders) or self.texts(none)), "the explorer")
        return bool(self.texts(folders))

    def _sockets(self) -> set[Path]:
        return set(self.running.temporary.glob("vscode-ipc-*.sock"))

    def configure(self, settings: dict[str, Any] | None = None, **more: Any) -> None:
        """Replace the settings of the section `infill`, or add to them; None takes one back."""
        wanted = {**(self._settings if settings is None else settings), **more}
        if wanted != self._settings:
            self._settings = wanted
            self._write()

    def prefer(self, settings: dict[str, Any]) -> None:
        """Replace the settings that are not those of the section `infill`."""
        self._others = settings
        self._write()

    def _write(self) -> None:
        """Write the settings and wait until an open window has read them: what is done next is to go by them."""
        given = {f"infill.{key}": value for key, value in self._settings.items() if value is not None}
        scratch = self._machine.with_suffix(".new")
        self._writes += 1
        title = f"settings {self._writes}"
        scratch.write_text(json.dumps({**self._others, **given, "window.title": title}))
        scratch.replace(self._machine)
        if self._socket.name:
            self.until(lambda: bool(self.browser.call("title") == title), "VS Code to read the settings")

    def open(self, name: str, marked: str, newline: str = "\n") -> Path:
        """Write a file and open it with the cursor at the │ in `marked`."""
        left, _, right = marked.partition(CURSOR)
        path = self.folder / name
        path.write_bytes((left + right).replace("\n", newline).encode())
        row, before = left.count("\n") + 1, left.rpartition("\n")[2]
        column = len(before.encode("utf-16-le")) // 2 + 1
        self.close()
        self.go_to(path, row, column, len(before) + 1)
        return path

    def offered(self, name: str, marked: str, typed: str, ghost: str) -> Path:
        """Write a file, open it, type at its cursor, and wait for this ghost text."""
        path = self.open(name, marked)
        self.type_text(typed)
        self.wait_for_ghost(ghost)
        return path

    def go_to(self, path: Path, row: int, column: int, shown_column: int | None = None) -> None:
        """Show a file with the cursor at a row and column, both from 1; where columns are shown, an emoji is one."""
        self.show(path, f":{row}:{column}")
        shown = f"Ln {row}, Col {shown_column or column}"
        self.until(lambda: self.cursor() == shown, f"the cursor at {shown}", self.cursor)

    def show(self, path: Path, place: str = "") -> None:
        """Show a file; `place` is ":row:column", or where the editor likes."""
        self._ask_window(
            {
                "type": "open",
                "fileURIs": [f"{path}{place}"],
                "folderURIs": [],
                "forceReuseWindow": True,
                "gotoLineMode": bool(place),
            }
        )
        self.until(lambda: self.tab() == path.name, f"{path.name} to be open", self.tab)

    def close(self) -> None:
        """Close the open file as it stands on the disk: what is open in other tabs is offered here."""
        while self.tab():
            tabs = len(self.texts(".tab"))
            self.press("F9")
            self.until(lambda before=tabs: len(self.texts(".tab")) < before, "a tab to close")  # type: ignore[misc]

    def tab(self) -> str:
        """The name in the active tab."""
        return str(self.browser.call("evaluate", f"({_TAB})()"))

    def command(self, title: str) -> None:
        """Run a command from the palette; open it again where it was closed before Enter, as by a message that goes."""
        titles = [title, f"{title}..."]
        for _ in range(PRESSES):
            self.press("F1")
            self.until(lambda: bool(self.rows()), "the palette")
            self.type_text(title)
            # Commands that were used before are in the list from the beginning; Enter runs the one that has the focus.
            self.until(
                lambda: not self.rows() or self.texts(f"{PALETTE} {_FOCUSED}")[:1] in [[name] for name in titles],
                f"the command {title}",
                self.rows,
            )
            self.browser.call("evaluate", f"({_NOTE_CHOICE})()")
            self.press("Enter")
            chosen = self.browser.call("evaluate", "window.chosen")
            if chosen:
                assert chosen in titles, f"{chosen} was run instead of {title}"
                return
        raise AssertionError(f"the palette was closed {PRESSES} times before it ran {title}")

    def press(self, *keys: str) -> None:
        """Press keys, such as "Control+s"."""
        for key in keys:
            self.browser.call("keyboard.press", key)

    def type_text(self, text: str) -> None:
        """Type on the keyboard."""
        self.browser.call("keyboard.type", text)

    def steady(self) -> Seen:
        """What the active editor shows, once that has stayed the same for a while and nothing is being computed."""
        looks: list[Seen] = []

        def settled() -> bool:
            if "Computing a suggestion" in self.sentence():
                looks.clear()
            looks.append(self.seen())
            return len(looks) > STEADY_LOOKS and len(set(looks[-STEADY_LOOKS:])) == 1

        self.until(settled, "the editor to settle", lambda: looks[-STEADY_LOOKS:])
        return looks[-1]

    def messages(self) -> list[str]:
        """The messages shown."""
        return self.texts(f"{_MESSAGES} .notification-list-item-message")

    def press_button(self, title: str) -> None:
        """Press a message's button."""
        self.browser.call("click", f"{_MESSAGES} .monaco-button:has-text('{title}')")

    def close_messages(self) -> None:
        """Take all messages away, and close the notification center."""
        self.press("F7")
        self.until(lambda: not self.messages() and not self.texts(_CENTER), "no messages", self.messages)

    def wait_for_ghost(self, text: str) -> None:
        """Wait until this is what the ghost text says."""
        self.until(lambda: self.ghost() == text, f"ghost text {text!r}", self.ghost)

    def wait_for_status(self, text: str) -> None:
        """Wait until the status bar says this of infill."""
        self.until(lambda: self.status() == text, f"status {text!r}", self.status)

    def wait_for_model(self, name: str) -> None:
        """Wait until this model is ready."""
        self.until(lambda: f"Ready: {name} on " in self.sentence(), f"model {name}", self.sentence)

    def wait_for_message(self, part: str) -> str:
        """Wait for a message that holds this; the whole of it."""
        self.until(lambda: any(part in message for message in self.messages()), f"a message {part!r}", self.messages)
        return next(message for message in self.messages() if part in message)

    def press_for_message(self, keys: str, part: str) -> str:
        """Press keys until a message holds this, as a user does whose keys got lost; the whole of the message."""
        self.press_until(keys, lambda: any(part in message for message in self.messages()))
        return self.wait_for_message(part)

    def press_until(self, keys: str, holds: Callable[[], bool]) -> None:
        """Press keys until something is true, as a user does whose keys got lost; at most PRESSES times."""
        for _ in range(PRESSES):
            self.press(keys)
            end = time.monotonic() + WAIT / PRESSES
            while time.monotonic() < end:
                if holds():
                    return
                time.sleep(0.05)

    def saved(self, path: Path) -> bytes:
        """Save the open file and read it."""
        before = path.stat().st_mtime_ns
        self.press("Control+s")
        # The file is emptied before it is written.
        self.until(
            lambda: path.stat().st_mtime_ns != before and not self.texts(".tab.active.dirty"), f"{path.name} saved"
        )
        return path.read_bytes()

    def until(self, holds: Callable[[], bool], what: str, instead: Callable[[], object] = lambda: "") -> None:
        """Wait for something to become true."""
        end = time.monotonic() + WAIT
        while not holds():
            if time.monotonic() > end:
                self.browser.call("screenshot", {"path": str(CACHE / "failure.png")})
                raise AssertionError(f"waited for {what}; instead {instead()!r} (see {CACHE / 'failure.png'})")
            time.sleep(0.05)

    def images(self) -> Path:
        """Where pictures for the documentation go; the committed ones are rewritten only on demand."""
        folder = IMAGES if os.environ.get("INFILL_E2E_SCREENSHOTS") == "1" else CACHE / "images"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def picture(self, name: str, clip: dict[str, int], *, committed: bool = True) -> Path:
        """Take a picture, for the documentation if it is to be `committed`. Return its path."""
        path = (self.images() if committed else CACHE) / f"{name}.png"
        self.until(lambda: self.browser.call("evaluate", f"({_MOVING})()") == 0, "everything to stand still")
        self.browser.call("screenshot", {"path": str(path), "clip": clip})
        return path

    def _ask_window(self, request: dict[str, Any]) -> None:
        """Ask as the command `code` does in a terminal of the workbench."""
        with contextlib.closing(http.client.HTTPConnection("localhost", timeout=WAIT)) as connection:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(self._socket))
            connection.request("POST", "/", json.dumps(request), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()

    def processes(self) -> list[tuple[psutil.Process, list[str]]]:
        """All processes of the VS Code server, with their command lines."""
        return [(process, _words(process)) for process in processes_below(self.running.process.pid)]

    def server_processes(self) -> list[psutil.Process]:
        """The language servers running from a module."""
        return [process for process, words in self.processes() if words[1:3] == ["-m", "lsp_server"]]

    def engine_processes(self) -> list[psutil.Process]:
        """The engines with a model of these tests. The server that started one may have ended."""
        found = ((process, _words(process)) for process in psutil.process_iter())
        models = str(self.folder.parent)
        return [one for one, words in found if "infill_engine.serving" in words and models in " ".join(words)]


def processes_below(pid: int) -> list[psutil.Process]:
    """The processes that a process has started, and theirs."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
