"""The worker as a process: its pipe stays clean, and it ends when the pipe does."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from infill_engine.models.runtime.devices import physical_cores
from infill_engine.serving.frames import decode, encode, read_frame
from infill_engine.serving.protocol import Answered, Failure, Infill, Status
from infill_engine.types import InfillRequest

REPOSITORY = Path(__file__).parents[3]
FAR = 1e12
FULL = Path("/dev/full")

NOISY = """
import os, sys, threading
from infill_engine.settings import WindowSettings
from infill_engine.types import Answer, Candidate
from infill_engine.serving.__main__ import serve
from tests.toy_engine import ToyEngine

class Noisy(ToyEngine):
    window = WindowSettings(70, 30)
    def answer(self, request, deadline, observer):
        print("a stray print")
        os.write(1, b"and one from C")
        sys.stdout.flush()
        return Answer((Candidate(request.prefix, 0.5),))
    def prefetch(self, request, deadline):
        threading.Event().wait()

serve(lambda progress: Noisy())
"""

BROKEN = """
from infill_engine.serving.__main__ import serve
from tests.toy_engine import ToyEngine

class Broken(ToyEngine):
    def answer(self, request, deadline, observer):
        raise KeyError("an engine's fault is logged")

serve(lambda progress: Broken())
"""

NEVER_LOADED = """
import threading
from infill_engine.serving.__main__ import serve
serve(lambda progress: threading.Event().wait())
"""


def start(code: str, stderr: int | BinaryIO = subprocess.PIPE) -> subprocess.Popen:
    return start_with("-c", code, stderr=stderr)


def start_with(*arguments: str, stderr: int | BinaryIO = subprocess.PIPE) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=REPOSITORY,
    )


def test_stray_prints_do_not_reach_the_frames() -> None:
    with start(NOISY) as worker:
        assert decode(read_frame(worker.stdout)) == Status("loading")
        assert decode(read_frame(worker.stdout)).state == "ready"
        for number in range(3):
            worker.stdin.write(encode(Infill(number, "d", InfillRequest(f"{number}", ""), FAR)))
            worker.stdin.flush()
            message = decode(read_frame(worker.stdout))
            assert isinstance(message, Answered)
            assert (message.id, message.answer.candidates[0].text) == (number, f"{number}")
        worker.stdin.write(b"\0\0\0\1\xc1")  # a frame that is no message
        worker.stdin.close()
        assert read_frame(worker.stdout) is None
        assert worker.wait(10) == 0
        assert worker.stderr.read().count(b"a stray print") == 3


def test_it_ends_with_its_pipe_even_while_loading() -> None:
    with start(NEVER_LOADED) as worker:
        assert decode(read_frame(worker.stdout)) == Status("loading")
        worker.stdin.close()
        assert worker.wait(10) == 0


@pytest.mark.skipif(not FULL.exists(), reason="this system has no disk that is always full")
def test_a_fault_that_cannot_be_logged_is_answered() -> None:
    with FULL.open("wb") as full, start(BROKEN, full) as worker:
        too_long = threading.Timer(30, worker.kill)  # a worker that does not answer fails the test
        too_long.start()
        for _ in range(2):
            assert isinstance(decode(read_frame(worker.stdout)), Status)
        for number in range(2):
            worker.stdin.write(encode(Infill(number, "d", InfillRequest("x", ""), FAR)))
            worker.stdin.flush()
            assert isinstance(decode(read_frame(worker.stdout)), Failure)
        worker.stdin.close()
        assert worker.wait(10) == 0
        too_long.cancel()


def test_there_is_a_core() -> None:
    assert physical_cores() >= 1
