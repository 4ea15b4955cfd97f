"""How a session begins and ends, whatever the client does."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_client import Wire, inline


@contextlib.contextmanager
def interrupts(handling: signal.Handlers) -> Iterator[None]:
    """What processes that are started meanwhile do with interrupts."""
    before = signal.signal(signal.SIGINT, handling)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("ignoring", [signal.SIG_DFL, signal.SIG_IGN])
def test_it_does_not_outlive_its_client(ignoring: signal.Handlers, tmp_path: Path) -> None:
    """Although stdin stays open, as another process may hold it, and interrupts may be ignored, as shells have it."""
    client = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    with interrupts(ignoring):
        wire = Wire(tmp_path / "stderr", {"enable": False}, client=client.pid)
    wire.alive()
    client.kill()
    assert wire.process.wait(30) == 1
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def test_it_leaves_when_nobody_reads_what_it_says(tmp_path: Path) -> None:
    wire = Wire(tmp_path / "stderr", {"enable": False})
    wire.alive()
    wire.process.stdout.close()
    wire.send(2, "infill/getStatus")
    assert wire.process.wait(30) == 1
    assert "Traceback" not in (tmp_path / "stderr").read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="what nobody writes to is read for ever")
def test_it_ends_although_the_disk_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path))
    os.mkfifo(tmp_path / "statistics.db")
    wire = Wire(tmp_path / "stderr", {"enable": False})
    wire.alive()
    wire.send(2, "shutdown", None)
    assert wire.answer(2)["result"] is None
    wire.tell("exit", None)
    assert wire.process.wait(30) == 0


@pytest.mark.parametrize("length", [b"99999999999", b"9" * 30, b"9" * 5000])
def test_a_message_of_impossible_length_ends_the_session(length: bytes, tmp_path: Path) -> None:
    wire = Wire(tmp_path / "stderr", {"enable": False})
    wire.alive()
    wire.process.stdin.write(b"Content-Length: " + length + b"\r\n\r\n{}")
    wire.process.stdin.flush()
    assert wire.process.wait(30) == 1
    log = (tmp_path / "stderr").read_text()
    assert "restart the server" in log
    assert "Traceback" not in log


def test_options_of_the_wrong_kind_and_a_proper_end(tmp_path: Path) -> None:
    for options in (["a list"], {"enable": False, "model": 7}):
        wire = Wire(tmp_path / "stderr", options)
        wire.alive()
        wire.send(7, "shutdown", None)
        wire.send("again", "shutdown", None)
        assert wire.answer("again")["error"]["code"] == -32600
        assert wire.answer(7)["result"] is None
        wire.send(8, "textDocument/inlineCompletion", inline())
        assert wire.answer(8)["error"]["code"] == -32600
        wire.tell("exit", None)
        assert wire.process.wait(10) == 0


def test_a_request_before_initialized(tmp_path: Path) -> None:
    wire = Wire(tmp_path / "stderr", {"enable": False})
    wire.alive()
    assert wire.leave() == 1


def test_parameters_may_be_left_out(tmp_path: Path) -> None:
    """Hand-written clients do so where there is nothing to say."""
    wire = Wire(tmp_path / "stderr", {"enable": False}, greets=False)
    wire.tell("initialized")

    wire.until("off")
    wire.send(3, "no/such/method")
    assert wire.answer(3)["error"]["code"] == -32601
    wire.send(4, "textDocument/inlineCompletion")
    assert wire.answer(4)["error"]["code"] == -32602
    wire.alive()


def test_requests_wait_for_an_introduction(tmp_path: Path) -> None:
    wire = Wire(tmp_path / "stderr", {"enable": False}, greets=False, introduces=False)
    wire.send(1, "textDocument/inlineCompletion", inline())
    assert wire.answer(1)["error"]["code"] == -32002
    wire.initialize({"enable": False})
    wire.send(3, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    assert wire.answer(3)["error"]["code"] == -32600
    wire.tell("initialized", {})
    wire.alive()


def test_interrupted_it_ends_at_once(tmp_path: Path) -> None:
    """Although stdin is open, and something is always reading it."""
    with interrupts(signal.SIG_DFL):  # a shell may have started the tests without any
        wire = Wire(tmp_path / "stderr", {"enable": False})
    wire.alive()
    wire.process.send_signal(signal.SIGINT)
    assert wire.process.wait(10) == 130
    assert "Traceback" not in (tmp_path / "stderr").read_text()
