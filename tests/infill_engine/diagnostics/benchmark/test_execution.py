"""Programs that end well pass; nothing else does, and nothing outlives its time."""

import socket
import sys
import time
from pathlib import Path

import psutil
import pytest

from infill_engine.diagnostics.benchmark.problems import execution
from infill_engine.diagnostics.benchmark.problems.execution import has_no_network, passes

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")


@pytest.mark.parametrize(
    ("program", "passed"),
    [
        ("assert 1 + 1 == 2\n", True),
        ("assert 1 + 1 == 3\n", False),
        ("this is no Python", False),
        ("import sys; sys.exit(0)", True),
        ("import sys; sys.exit(3)", False),
        ("input()", False),
        ("print('x' * 100)", True),
        ("import os; assert 'BENCH_SECRET' not in os.environ", True),
    ],
)
def test_status(program: str, passed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_SECRET", "1")
    assert passes(program) is passed


def test_an_endless_loop_is_ended() -> None:
    assert not passes("while True: pass", wall_seconds=1.0)


def test_sleeping_is_ended() -> None:
    assert not passes("import time; time.sleep(60)", wall_seconds=1.0)


def test_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "MEMORY_BYTES", 400 * 1024 * 1024)
    assert not passes("x = bytearray(900 * 1024 * 1024)")
    assert passes("x = bytearray(1024 * 1024)")


def test_files_are_limited_and_thrown_away(tmp_path: Path) -> None:
    assert not passes("open('big', 'wb').write(b'x' * (4 << 20))")
    note = tmp_path / "where"
    assert passes(f"import os; open({str(note)!r}, 'w').write(os.getcwd()); open('left', 'w').write('x')")
    assert not Path(note.read_text()).exists()


@pytest.mark.parametrize("ending", ["", "time.sleep(60)"])
def test_children_do_not_outlive_it(tmp_path: Path, ending: str) -> None:
    note = tmp_path / "pid"
    program = (
        "import os, time\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    time.sleep(60)\n"
        f"open({str(note)!r}, 'w').write(str(child))\n"
        f"{ending}\n"
    )
    passes(program, wall_seconds=2.0)
    child = int(note.read_text())
    for _ in range(100):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    pytest.fail("the child still runs")


@pytest.mark.skipif(not has_no_network(), reason="this system gives a process no network namespace of its own")
def test_there_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        program = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
        exec(program, {})  # from here it is reachable
        assert not passes(program)
