"""Windows that are typed in steadily while something goes wrong, and what is counted around it."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.soak.corpus import REPOSITORY, File
from bench.soak.editor_window import WITNESS, EditorWindow, wait_for
from bench.soak.memory_monitor import engines_in
from bench.soak.texts import Document, Edit
from infill_engine.errors import InfillError
from lsp_server.protocol.messages import CANDIDATES

ENCODINGS = ("utf-8", "utf-16", "utf-32")
KEY_SECONDS = 0.1  # between an answer and the next key
GOOD_SECONDS = 60.0  # without candidates after that, a window has not recovered
TYPED = "    return combine(alpha, beta)"
TEXT = "def combine(alpha, beta):\n    return alpha + beta\n\n\n" + "".join(
    f"def shape_{number}(alpha, beta):\n    total = combine(alpha, beta)\n    return total\n\n\n"
    for number in range(12)
)


@dataclass
class Steady:
    """A window in which one line is typed again and again. `window` is replaced when its server is."""

    number: int
    make: Callable[[int], EditorWindow]
    window: EditorWindow = field(init=False)
    stop: threading.Event = field(default_factory=threading.Event)
    hold: threading.Event = field(default_factory=threading.Event)  # no key is pressed while it is set
    broken: str = ""
    _thread: threading.Thread | None = None

    def open(self) -> None:
        """Start the server."""
        self.window = self.make(self.number)

    def start(self) -> None:
        """Begin to type."""
        self.stop.clear()
        self._thread = threading.Thread(target=self._run, args=(self.window,), daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Wait until the last answer is there, and type no more."""
        self.stop.set()
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        """Leave as an editor does. Whatever is wrong is in the window's `faults`."""
        self.pause()
        try:
            self.window.close()
        except (OSError, InfillError) as fault:
            self.window.faults.append(f"could not close the window: {type(fault).__name__}")
            self.window.kill()

    def told(self) -> list[str]:
        """Return what was wrong in this window."""
        return [*self.window.faults, *([self.broken] if self.broken else [])]

    def _run(self, window: EditorWindow) -> None:
        try:
            type_steadily(window, self.stop)
        except OSError:  # the server was killed
            pass
        except Exception as fault:
            self.broken = f"{type(fault).__name__}: {fault}"


def type_steadily(window: EditorWindow, stop: threading.Event) -> None:
    """Type one line again and again, and ask after each key. Raises OSError if the server is gone."""
    document = window.open(File(REPOSITORY / "steady.py", "python", TEXT), "\n")
    while not stop.is_set():
        for _ in range(8):
            _type_line(window, document, stop)
        window.close_document(document)
        document = window.open(File(REPOSITORY / "steady.py", "python", TEXT), "\n")


def _type_line(window: EditorWindow, document: Document, stop: threading.Event) -> None:
    document.cursor = len(document.text)
    line = f"def further_{document.version}(alpha, beta):\n{TYPED}\n\n\n"
    for key in line:
        if stop.is_set():
            return
        window.edit(document, Edit(document.cursor, "", key), remember=False)
        window.ask(document, CANDIDATES)
        stop.wait(KEY_SECONDS)


@dataclass
class Scene:
    """Windows that share an engine. `folder` holds their state folders and the runtime folder."""

    folder: Path
    options: dict[str, Any]
    windows: int = 3
    server: tuple[str, ...] = WITNESS
    steady: list[Steady] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # of windows that are closed

    @property
    def runtime(self) -> Path:
        path = self.folder / "run"
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    @property
    def engines(self) -> list[int]:
        """The processes of engines whose sockets are in the runtime folder."""
        return engines_in(self.runtime)

    def open(self) -> None:
        """Open all windows at once, and wait until each is answered with candidates."""
        made = [Steady(number, self._window) for number in range(self.windows)]
        threads = [threading.Thread(target=one.open) for one in made]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.steady = made
        for one in made:
            one.window.until_ready()
            one.start()
        self.recovered(made, perf_counter())

    def more(self, number: int) -> Steady:
        """Open another window."""
        made = Steady(number, self._window)
        made.open()
        return made

    def recovered(self, windows: list[Steady], since: float) -> list[float | None]:
        """Wait until each window has candidates that were asked for after `since`. Return the seconds until then."""
        wait_for(lambda: all(first_good(one.window, since) is not None for one in windows), GOOD_SECONDS)
        return [first_good(one.window, since) for one in windows]

    def remove(self, one: Steady) -> None:
        """Close one window. What was wrong is told by `close`."""
        self.steady.remove(one)
        one.close()
        self.wrong += one.told()

    def close(self) -> list[str]:
        """Close all windows. Return what was wrong."""
        for one in list(self.steady):
            self.remove(one)
        return self.wrong

    def _window(self, number: int) -> EditorWindow:
        state = self.folder / f"state-{number}"
        return EditorWindow(
            number,
            ENCODINGS[number % len(ENCODINGS)],
            self.options,
            runtime=self.runtime,
            state=state,
            root=self.folder,
            server=self.server,
        )


def first_good(window: EditorWindow, since: float, *, computed: bool = True) -> float | None:
    """Return the seconds from `since` to the first answer with candidates, of a request sent later; None if none came.

    `computed`: copies alone do not count.
    """
    for row in list(window.rows):
        if row["sent"] >= since and row["items"] and (row["computed"] or not computed):
            return float(row["sent"] - since + row["ms"] / 1000)
    return None


def keep_typing(seconds: float) -> None:
    """Let the windows be typed in."""
    time.sleep(seconds)
