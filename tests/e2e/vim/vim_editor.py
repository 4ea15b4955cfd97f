"""A real Vim in a terminal of its own, typed into as a person does, and asked over a channel."""

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from editor_setup import set_up
from other_editors import in_terminal

WAIT = 30
POLL = 0.02
CURSOR = "│"
HOME = Path(__file__).parents[3] / ".cache" / "e2e" / "vim"


class Vim:
    """One editor. What it keeps lies in `folder`."""

    def __init__(self, terminal: int, channel: socket.socket, folder: Path) -> None:
        self.folder = folder
        self.asks = ""  # what is typed to be offered completions
        self._terminal = terminal
        self._channel = channel
        self._decoder = json.JSONDecoder()
        self._number = 0
        self._rest = ""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def command(self, command: str) -> None:
        self._channel.sendall(json.dumps(["ex", command]).encode())

    def value(self, expression: str) -> Any:
        """What an expression evaluates to."""
        self._number -= 1
        self._channel.sendall(json.dumps(["expr", expression, self._number]).encode())
        while True:
            number, value = self._read()
            if number == self._number:
                return value

    def open(self, marked: str, name: str) -> None:
        """Open a file that holds the text, and begin to insert at its cursor, which is at the end of a line."""
        path = self.folder / name
        path.write_text(marked.replace(CURSOR, ""))
        self.command(f"edit {path}")
        self.until(lambda: self.value("expand('%:t')") == name)
        self.value(f"cursor({marked.split(CURSOR)[0].count(chr(10)) + 1}, 1)")
        self.type("A")
        self.until(lambda: self.value("mode()") == "i")

    @property
    def text(self) -> str:
        return "\n".join(self.value("getline(1, '$')"))

    def until(self, holds: Callable[[], Any]) -> None:
        end = time.monotonic() + WAIT
        while not holds():
            assert time.monotonic() < end, (self.text, self.value("execute('messages')"))
            time.sleep(POLL)

    def _read(self) -> Any:
        while True:
            with contextlib.suppress(json.JSONDecodeError):
                found, end = self._decoder.raw_decode(self._rest)
                self._rest = self._rest[end:].lstrip()
                return found
            more = self._channel.recv(65_536)
            assert more, "Vim has ended"
            self._rest += more.decode()


@contextlib.contextmanager
def editor(folder: Path, plugin: Path, settings: list[str]) -> Iterator[Vim]:
    """A Vim with a plugin; `settings` are the lines of the user's file before it is loaded."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        channel = f"let g:channel = ch_open('127.0.0.1:{listener.getsockname()[1]}', {{'mode': 'json'}})"
        lines = [
            "set nocompatible noswapfile encoding=utf-8",
            *settings,
            f"set runtimepath^={plugin}",
            f"autocmd VimEnter * {channel}",  # a channel that no variable holds is closed
        ]
        (folder / "vimrc").write_text("\n".join([*lines, ""]))
        environment = {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8", "HOME": str(folder)}
        if runtime := next(HOME.glob("root/usr/share/vim/vim9*"), None):
            environment["VIMRUNTIME"] = str(runtime)
        command = [set_up(Path(__file__).parent), "-u", str(folder / "vimrc"), "-i", "NONE"]
        with in_terminal(command, folder, environment, listener, WAIT) as (terminal, connection):
            yield Vim(terminal, connection, folder)
