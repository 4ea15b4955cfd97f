"""infill/cursor: what is read ahead where the cursor rests, and what is not."""

import asyncio
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from capabilities import NEOVIM
from editor import CURSOR, editor
from msgspec import structs

from infill_engine.budget.deadline import now
from infill_engine.serving.protocol import Infill, Prefetch, State, Status
from infill_engine.settings import WindowSettings
from lsp_server.documents.snapshots import TextChange
from lsp_server.engine_client.supervisor import EngineProcess
from lsp_server.server import create_server
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions.prefetch import BURST_SECONDS
from lsp_server.suggestions.workspace import LARGEST_SIZE

URI, OTHER, SECRET = "file:///project/a.py", "file:///project/b.py", "file:///project/.env"
READY = Status(State.READY, model="toy", device="cpu", window=WindowSettings(40, 30))


class Bench:
    """A server whose worker only notes what it is sent. The version of each document is 5."""

    def __init__(self) -> None:
        self.server, self.session = create_server()
        self.sent: list[Any] = []
        self.session.engine.process.link = SimpleNamespace(send=self._send, pid=1)
        self.session.engine.status = READY
        self.session.protocol.handle_message(
            {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}}
        )

    def open(self, text: str, uri: str = URI) -> None:
        self.session.workspace.documents.open(uri, "python", text, 5)

    def tell(self, position: object, uri: object = URI, **document: object) -> None:
        """What a client sends, through the layer that decodes it."""
        params = {"textDocument": {"uri": uri, **document}, "position": position}
        self.session.protocol.handle_message({"method": "infill/cursor", "params": params})

    def rest(self, line: int, character: int, uri: str = URI, **document: object) -> None:
        self.tell({"line": line, "character": character}, uri, **document)

    def restart(self) -> None:
        """Another worker takes the place of this one."""
        self.session.engine.lost()
        self.session.engine.heard(Status(State.LOADING))
        self.session.engine.heard(READY)

    @property
    def warmed(self) -> list[str]:
        """The windows the worker was to read, with the cursor in them."""
        return [item.around.prefix + CURSOR + item.around.suffix for item in self.sent if isinstance(item, Prefetch)]

    def _send(self, message: object) -> bool:
        self.sent.append(message)
        return True


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(EngineProcess, "running", True)
    made = Bench()
    made.open("a = 'é😀'; b\nc = 3\n")
    return made


PLACES = [
    ((0, 0), {}, f"{CURSOR}a = 'é😀'; b\nc = 3\n"),
    ((0, 8), {}, f"a = 'é😀{CURSOR}'; b\nc = 3\n"),  # in UTF-16 units
    ((1, 5), {"version": 5}, f"a = 'é😀'; b\nc = 3{CURSOR}\n"),
    ((1, 5), {"version": None}, f"a = 'é😀'; b\nc = 3{CURSOR}\n"),
    ((1, 5), {"version": 5.0}, f"a = 'é😀'; b\nc = 3{CURSOR}\n"),
    ((99, 99), {}, f"a = 'é😀'; b\nc = 3\n{CURSOR}"),
    ((-1, -1), {}, f"{CURSOR}a = 'é😀'; b\nc = 3\n"),
]


@pytest.mark.parametrize(("place", "document", "expected"), PLACES)
async def test_the_text_around_it_is_read(
    bench: Bench, place: tuple[int, int], document: dict[str, object], expected: str
) -> None:
    bench.rest(*place, **document)
    assert bench.warmed == [expected]


async def test_a_window_is_read_of_a_long_document(bench: Bench) -> None:
    bench.open("".join(f"line {row}\n" for row in range(1000)), OTHER)
    bench.rest(500, 4, OTHER)
    (window,) = bench.warmed
    assert f"line 499\nline{CURSOR} 500\n" in window
    assert len(window) <= 71


IGNORED = [
    {"uri": "file:///project/never_opened.py"},
    {"uri": SECRET},
    {"uri": 5},
    {"uri": None},
    {"version": 4},
    {"version": 6},
    {"version": "5"},
    {"version": True},
    {"position": None},
    {"position": {"line": 0}},
    {"position": "0:0"},
    {"position": [0, 0]},
]


@pytest.mark.parametrize("told", IGNORED, ids=str)
async def test_what_it_does_not_fit_is_ignored(bench: Bench, told: dict[str, object]) -> None:
    bench.open("KEY=", SECRET)
    bench.tell(**{"position": {"line": 0, "character": 0}, **told})
    assert bench.sent == []
    bench.rest(0, 0)
    assert len(bench.warmed) == 1


@pytest.mark.parametrize(
    "settings", [ServerSettings(enable=False), ServerSettings(languages={"python": False})], ids=["off", "language off"]
)
async def test_nothing_is_read_where_it_is_switched_off(bench: Bench, settings: ServerSettings) -> None:
    bench.session.workspace.settings = settings
    bench.rest(0, 0)
    assert bench.sent == []


@pytest.mark.parametrize(("plugged", "read"), [(True, 1), (None, 1), (False, 0)])
async def test_nothing_is_read_ahead_on_battery(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, plugged: bool | None, read: int
) -> None:
    battery = SimpleNamespace(percent=80, power_plugged=plugged)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    bench.rest(0, 0)
    assert len(bench.warmed) == read
    bench.sent.clear()
    change = bench.session.workspace.documents.change(URI, TextChange("d", (0, 0), (0, 0)), arrived=now())
    bench.session.prefetch.changed(change)
    await asyncio.sleep(5 * BURST_SECONDS)
    assert len([item for item in bench.sent if isinstance(item, Infill)]) == read


async def test_an_enormous_document_is_left_alone(bench: Bench) -> None:
    bench.open("x" * (LARGEST_SIZE + 1))
    bench.rest(0, 0)
    assert bench.sent == []


async def test_the_same_window_is_read_once(bench: Bench) -> None:
    for _ in range(3):
        bench.rest(0, 0)
    bench.rest(1, 0)
    bench.rest(0, 0)
    assert [window.index(CURSOR) for window in bench.warmed] == [0, 12, 0]


async def test_after_anything_else_was_asked_it_is_read_anew(bench: Bench) -> None:
    bench.rest(0, 0)
    (snapshot,) = bench.session.workspace.documents.snapshots()
    bench.session.engine.speculate(URI, bench.session.requests.completion(snapshot, (1, 0)), 1e9)
    bench.rest(0, 0)
    assert [type(message) for message in bench.sent] == [Prefetch, Infill, Prefetch]


async def test_a_new_worker_reads_it_anew(bench: Bench) -> None:
    bench.rest(0, 0)
    bench.session.engine.lost()
    bench.rest(0, 0)
    assert len(bench.warmed) == 2


async def test_an_engine_that_becomes_ready_reads_where_the_cursor_rests(bench: Bench) -> None:
    bench.open("d = 4\n", OTHER)  # the last that was opened
    bench.rest(1, 5)
    bench.restart()
    assert bench.warmed[1:] == [f"a = 'é😀'; b\nc = 3{CURSOR}\n"]
    bench.open("e = 5\n")  # another text: the cursor may be anywhere
    bench.restart()
    assert bench.warmed[2:] == [f"e = 5\n{CURSOR}"]


async def test_an_engine_that_stays_ready_reads_nothing_anew(bench: Bench) -> None:
    bench.restart()
    read = len(bench.warmed)
    (snapshot,) = bench.session.workspace.documents.snapshots()
    bench.session.engine.speculate(URI, bench.session.requests.completion(snapshot, (1, 0)), 1e9)
    bench.session.engine.heard(structs.replace(READY, least_ms=50.0))
    assert (read, len(bench.warmed)) == (1, 1)


async def test_a_text_that_ends_the_engine_does_so_once() -> None:
    script = {"rules": [{"before": "x = ", "candidates": ["alpha(1)"]}], "crash_after": "boom"}
    async with editor(NEOVIM, script, options={"budgetMs": 5000}) as made:
        await made.ready()
        uri = made.open("boom\nx = │\nboom\n")

        def rest(line: int) -> None:
            params = {"textDocument": {"uri": uri, "version": 0}, "position": {"line": line, "character": 4}}
            made.client.protocol.notify("infill/cursor", params)

        worker = psutil.Process((await made.status()).workerPid)
        del made.statuses[:]
        rest(0)
        await made.ready()
        assert not worker.is_running()
        worker = psutil.Process((await made.status()).workerPid)
        rest(2)
        rest(0)
        assert await made.ask(uri) == ["alpha(1)"]
        await asyncio.sleep(0.2)
        assert await made.ask(uri) == ["alpha(1)"]
        assert worker.is_running()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([("", 0, 8, 12)], ["a = 'é😀│\nc = 3\n"]),  # a deletion
        ([("x", 1, 0, 1), ("c", 1, 0, 1)], ["a = 'é😀'; b\nc│ = 3\n"]),  # an undo
        ([("", 0, 11, 12), ("", 0, 10, 11)], ["a = 'é😀';│\nc = 3\n"]),  # of two deletions the last one
    ],
)
async def test_text_around_a_deletion_or_an_undo_is_read_ahead(
    bench: Bench, changes: list[tuple[str, int, int, int]], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lsp_server.suggestions.prefetch.PAUSE_SECONDS", 0.02)
    bench.sent.clear()
    for number, (text, line, start, end) in enumerate(changes):
        change = {
            "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
            "text": text,
        }
        params = {"textDocument": {"uri": URI, "version": 6 + number}, "contentChanges": [change]}
        bench.session.protocol.handle_message({"method": "textDocument/didChange", "params": params})
    await asyncio.sleep(0.2)
    assert [warmed.replace(CURSOR, "│") for warmed in bench.warmed] == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tabSize": 2, "insertSpaces": True}, "  "),
        ({"tabSize": 8, "insertSpaces": False}, "\t"),
        ({"tabSize": 0, "insertSpaces": True}, ""),
        (None, ""),
    ],
)
async def test_how_the_editor_indents(bench: Bench, options: object, expected: str) -> None:
    place = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}, "options": options}
    bench.session.protocol.handle_message({"method": "infill/cursor", "params": place})
    snapshot = bench.session.workspace.documents.get(URI)
    assert snapshot is not None
    assert bench.session.requests.completion(snapshot, (0, 0)).indent == expected
