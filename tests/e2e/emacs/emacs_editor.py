"""A real Emacs in a terminal of its own, typed into as a person does, and asked over a connection."""

import contextlib
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from editor_setup import set_up
from other_editors import REPOSITORY, in_terminal, write_settings

WAIT = 180
POLL = 0.05
CURSOR = "│"
ROOT = REPOSITORY / ".cache" / "e2e" / "emacs" / "root"


class Emacs:
    """One editor. What it keeps lies in `folder`."""

    def __init__(self, terminal: int, connection: socket.socket, folder: Path) -> None:
        self.folder = folder
        self._terminal = terminal
        self._connection = connection
        self._lines = connection.makefile(encoding="utf-8")

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def value(self, form: str) -> str:
        """What a form evaluates to in the buffer that is shown, as Lisp prints it."""
        self._connection.sendall(f"{form}\n".encode())
        return self._lines.readline().rstrip("\n")

    def open(self, marked: str, name: str) -> None:
        """Open a file that holds the text, with the cursor in its place."""
        path = self.folder / name
        path.write_text(marked.replace(CURSOR, ""))
        self.type(f"\x18\x06{path}\r")  # Eglot waits for a command of the user
        self.until(lambda: self.value("(buffer-name)") == f'"{name}"')
        self.value(f"(goto-char {marked.index(CURSOR) + 1})")

    @property
    def text(self) -> str:
        lisp = self.value("(mapcar #'identity (buffer-substring-no-properties (point-min) (point-max)))")
        return "".join(map(chr, map(int, re.findall(r"\d+", lisp))))

    @property
    def messages(self) -> str:
        return self.value('(with-current-buffer "*Messages*" (buffer-string))')

    def until(self, holds: Callable[[], Any]) -> None:
        end = time.monotonic() + WAIT
        while not holds():
            assert time.monotonic() < end, (self.text, self.messages)
            time.sleep(POLL)


@contextlib.contextmanager
def editor(folder: Path, configuration: str, script: dict[str, Any], packages: str = "") -> Iterator[Emacs]:
    """An Emacs with a configuration, and `packages` beside those that were set up. `script` is what the engine says."""
    emacs = set_up(Path(__file__).parent)
    write_settings(folder, script)
    work = folder / "project"
    (work / ".git").mkdir(parents=True)  # what makes a folder a project
    (folder / "user.el").write_text(configuration)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = [packages, *map(str, (ROOT / "usr/share/emacs/site-lisp/elpa-src").glob("*"))]
        environment = {
            **os.environ,
            "TERM": "xterm",
            "LANG": "C.UTF-8",
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(REPOSITORY),
            "INFILL_STATE_DIR": str(folder),
            "INFILL_PACKAGES": ":".join(filter(None, found)),
            "INFILL_PORT": str(listener.getsockname()[1]),
        }
        init = str(Path(__file__).parent / "init.el")
        command = [emacs, "-Q", "-nw", "-l", init, "-l", str(folder / "user.el")]
        with in_terminal(command, work, environment, listener, WAIT) as (terminal, connection):
            yield Emacs(terminal, connection, work)
