"""The worker as a process: its pipe stays clean, and it ends when the pipe does."""

import subprocess
import sys
from pathlib import Path

from infill_engine.models.runtime.devices import physical_cores
from infill_engine.serving.protocol import Answered, Infill, Status, decode, encode, read_frame
from infill_engine.types import InfillRequest

REPOSITORY = Path(__file__).parents[3]
FAR = 1e12

NOISY = """
import os, sys, threading
from infill_engine.settings import WindowSettings
from infill_engine.types import Answer, Candidate
from infill_engine.serving.__main__ import serve
from tests.toy_engine import ToyEngine

class Noisy(ToyEngine):
    window = WindowSettings(70, 30)
    def answer(self, request, deadline, watch):
        print("a stray print")
        os.write(1, b"and one from C")
        sys.stdout.flush()
        return Answer((Candidate(request.prefix, 0.5),))
    def warm(self, request, deadline):
        threading.Event().wait()

serve(lambda progress: Noisy())
"""

NEVER_LOADED = """
import threading
from infill_engine.serving.__main__ import serve
serve(lambda progress: threading.Event().wait())
"""


def start(code: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
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


def test_there_is_a_core() -> None:
    assert physical_cores() >= 1
