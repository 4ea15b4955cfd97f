"""Processes that are killed, stopped or starved. Each fault returns what to measure afterwards."""

import contextlib
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

import psutil

from bench.soak.corpus import REPOSITORY
from bench.soak.editor_window import wait_for
from bench.soak.faults.scene import GOOD_SECONDS, Scene, Steady, keep_typing

STOPPED_SECONDS = 2.0
BUSY_SECONDS = 3.0
LEAVES_SECONDS = 15.0  # for a server whose client is gone


@dataclass
class Struck:
    """`since` is when recovering began. `touched` are windows whose answers cannot be in time."""

    since: float
    touched: set[int] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    added: list[Steady] = field(default_factory=list)  # windows that were opened, and are closed when all is counted


def kill_engine(scene: Scene, _rng: random.Random) -> Struck:
    """Kill the engine."""
    return Struck(kill_engines(scene))


def kill_engines(scene: Scene) -> float:
    """Kill all engines of a scene. Return when."""
    engines = [psutil.Process(pid) for pid in scene.engines]
    since = perf_counter()
    for engine in engines:
        engine.kill()
    return since


def newest(scene: Scene) -> int:
    """Return the process of the engine that was started last."""
    return max(scene.engines, key=lambda pid: psutil.Process(pid).create_time())


def stop_engine(scene: Scene, _rng: random.Random) -> Struck:
    """Stop the engine for good. The windows have to find out and start another."""
    pid = newest(scene)
    since = perf_counter()
    psutil.Process(pid).suspend()
    if not wait_for(lambda: not _runs(pid), GOOD_SECONDS):
        return Struck(since, wrong=["the stopped engine was not replaced"])
    return Struck(since)


def pause_engine(scene: Scene, _rng: random.Random) -> Struck:
    """Stop the engine for a moment."""
    pid = newest(scene)
    with _stopped(pid):
        keep_typing(STOPPED_SECONDS)
    return Struck(perf_counter())


def kill_server(scene: Scene, rng: random.Random) -> Struck:
    """Kill a server. Its editor starts another."""
    one = rng.choice(scene.steady)
    since = perf_counter()
    one.window.client.process.kill()
    one.pause()
    lost = [row for row in one.window.rows if row.get("fault") == "lost"]
    one.open()
    one.start()
    return Struck(since, wrong=["lost before its server was killed"] * len(lost))


def pause_server(scene: Scene, rng: random.Random) -> Struck:
    """Stop a server for a moment."""
    one = rng.choice(scene.steady)
    with _stopped(one.window.client.process.pid):
        keep_typing(STOPPED_SECONDS)
    return Struck(perf_counter(), touched={one.number})


def kill_client(scene: Scene, _rng: random.Random) -> Struck:
    """Kill an editor. Its server has to leave."""
    with _client(scene) as (client, server):
        since = perf_counter()
        client.kill()
        if not wait_for(lambda: not _runs(server), LEAVES_SECONDS):
            psutil.Process(server).kill()
            return Struck(since, wrong=["a server outlived its client"])
    return Struck(since)


def pause_client(scene: Scene, _rng: random.Random) -> Struck:
    """Stop an editor for a moment: it reads nothing."""
    with _client(scene) as (client, server):
        with _stopped(client.pid):
            keep_typing(STOPPED_SECONDS)
        since = perf_counter()
        wrong = [] if _runs(server) else ["a server ended while its client was stopped"]
    return Struck(since, wrong=wrong)


def busy_machine(_scene: Scene, _rng: random.Random) -> Struck:
    """Let eight processes compute."""
    since = perf_counter()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(8)]
    keep_typing(BUSY_SECONDS)
    for process in busy:
        process.kill()
        process.wait()
    return Struck(since)


def out_of_memory(scene: Scene, _rng: random.Random) -> Struck:
    """Let the engine get no more memory for a moment."""
    pid = newest(scene)
    with contextlib.suppress(psutil.Error):
        engine = psutil.Process(pid)
        engine.rlimit(psutil.RLIMIT_AS, (engine.memory_info().vms + 1_000_000, psutil.RLIM_INFINITY))
        keep_typing(BUSY_SECONDS)
        engine.rlimit(psutil.RLIMIT_AS, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
    return Struck(perf_counter())


@contextlib.contextmanager
def _stopped(pid: int) -> Iterator[None]:
    process = psutil.Process(pid)
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def _client(scene: Scene) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A window whose editor is a process of its own, and the process of its server."""
    model, state = scene.options["model"], scene.folder / "state-client"
    command = [sys.executable, "-m", "bench.soak.faults.client", model, str(scene.runtime), str(state)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    try:
        assert client.stdout is not None
        server = int(client.stdout.readline())
        keep_typing(0.5)
        yield client, server
    finally:
        client.kill()
        client.wait()


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
