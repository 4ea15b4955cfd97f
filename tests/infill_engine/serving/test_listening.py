"""The socket of a shared engine, spoken to by clients that do not keep to the rules."""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infill_engine.serving.frames import decode, encode, read_frame
from infill_engine.serving.protocol import PROTOCOL, Answered, CanvasPreview, Hello, Infill, Message, Prefetch
from infill_engine.serving.runtime_files import package_version
from infill_engine.types import InfillRequest, Surroundings

FAR = 1e12
WAIT = 20
REPOSITORY = Path(__file__).parents[3]
LARGE = """
import sys
from pathlib import Path
from infill_engine.types import Answer, Candidate
from infill_engine.serving.listening import serve_socket
from tests.toy_engine import ToyEngine

class Large(ToyEngine):
    def answer(self, request, deadline, observer):
        return Answer((Candidate("x" * 1_000_000 if request.prefix == "large" else request.prefix, 0.5),))

serve_socket(lambda progress: Large(), Path(sys.argv[1]), 60.0)
"""


@pytest.fixture(scope="module")
def engine() -> Iterator[tuple[Path, psutil.Process]]:
    with tempfile.TemporaryDirectory(prefix="infill-") as folder:
        path = Path(folder, "a.sock")
        with subprocess.Popen([sys.executable, "-c", LARGE, str(path)], cwd=REPOSITORY) as process:
            until(lambda: accepts(path))
            yield path, psutil.Process(process.pid)
            process.kill()


def accepts(path: Path) -> bool:
    """Whether somebody listens: the file is there a moment before."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def until(holds: object) -> None:
    give_up = time.monotonic() + WAIT
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.01)


class Client:
    def __init__(self, path: Path, greets: bool = True) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))  # waits while many others are being accepted, which it would not with a timeout
        self.socket.settimeout(WAIT)
        self.frames = self.socket.makefile("rb")
        if greets:
            self.send(Hello(PROTOCOL, package_version()))

    def send(self, message: Message) -> None:
        self.socket.sendall(encode(message))

    def answer(self, prefix: str) -> str:
        while True:
            self.send(Infill(7, "d", InfillRequest(prefix, ""), FAR))
            while not isinstance(message := decode(read_frame(self.frames)), Answered):
                pass
            if message.answer.candidates:  # not while loading
                return message.answer.candidates[0].text

    def close(self) -> None:
        self.frames.close()
        self.socket.close()


def serves(path: Path) -> bool:
    client = Client(path)
    found = client.answer("still there")
    client.close()
    return found == "still there"


@pytest.mark.parametrize(
    "first",
    [
        encode(Infill(1, "d", InfillRequest("a", ""), FAR)),
        encode(Hello(PROTOCOL, "another version")),
        encode(Hello(PROTOCOL + 1, package_version())),
        b"\0\0\0\3abc",
        b"\xff" * 4 + b"x",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_who_does_not_greet_is_sent_away(engine: tuple[Path, psutil.Process], first: bytes) -> None:
    client = Client(engine[0], greets=False)
    client.socket.sendall(first)
    client.socket.shutdown(socket.SHUT_WR)
    assert read_frame(client.frames) is None
    client.close()
    assert serves(engine[0])


def test_a_client_that_stops_reading_is_disconnected(engine: tuple[Path, psutil.Process]) -> None:
    path, process = engine
    assert serves(path)
    before = process.memory_info().rss
    client = Client(path)

    def ask_on() -> None:
        for number in range(200):
            client.send(Infill(number, f"d{number}", InfillRequest("large", ""), FAR))
            time.sleep(0.02)

    with pytest.raises(OSError):  # noqa: PT011  (a broken pipe or a reset)
        ask_on()
    client.close()
    assert serves(path)
    assert process.memory_info().rss - before < 100_000_000


MESSAGES = [
    Infill(1, "d", InfillRequest("a", "b"), FAR),
    Prefetch("d", Surroundings("a", "b")),
    Hello(1, "a"),
    CanvasPreview(1, 0, ()),
]


@given(st.binary(max_size=300), st.integers(0, 3), st.integers(0, 400))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_frames_that_are_cut_or_changed(
    engine: tuple[Path, psutil.Process], noise: bytes, which: int, cut: int
) -> None:
    client = Client(engine[0])
    frame = encode(MESSAGES[which])
    with contextlib.suppress(OSError):
        client.socket.sendall(noise if not cut else frame[:cut] + noise)
    client.close()


def test_it_still_serves_after_all_that(engine: tuple[Path, psutil.Process]) -> None:
    path, process = engine
    assert serves(path)
    until(lambda: process.num_threads() < 20 + (os.cpu_count() or 1))
