"""Faults of sockets, disks, clocks and model files."""

import os
import random
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import psutil

from bench.soak.editor_window import wait_for
from bench.soak.faults.preload import set_clock
from bench.soak.faults.processes import Struck, kill_engines
from bench.soak.faults.scene import Scene, Steady, keep_typing

DEAF = """
import os, socket, sys, time
os.umask(0o177)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
time.sleep(600)
"""


def remove_socket(scene: Scene, _rng: random.Random) -> Struck:
    """Remove the socket. A new window starts another engine; the old one goes on for its windows."""
    since = perf_counter()
    for path in scene.runtime.glob("*.sock"):
        path.unlink()
    return Struck(since, added=[_add_window(scene)])


def replace_socket(scene: Scene, rng: random.Random) -> Struck:
    """Put something else in the place of the socket, and open a window."""
    since = perf_counter()
    (path,) = scene.runtime.glob("*.sock")
    path.unlink()
    put = rng.choice((_left_behind, _no_socket, _link, _deaf))
    deaf = put(path)
    added = _add_window(scene)
    if isinstance(deaf, subprocess.Popen):
        deaf.kill()
        deaf.wait()
    return Struck(since, added=[added])


def fill_disk(scene: Scene, _rng: random.Random) -> Struck:
    """Let no process of ours write a byte more to a file, and kill the engine."""
    for one in scene.steady:
        psutil.Process(one.window.client.process.pid).rlimit(psutil.RLIMIT_FSIZE, (0, 0))
    return Struck(kill_engines(scene))


def fill_file_system(scene: Scene, _rng: random.Random) -> Struck:
    """Fill the file system that the runtime and state folders lie in, and kill the engine.

    There is room for neither a byte nor a file.
    """
    full = scene.folder / "full"
    with full.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            pass
    number = 0
    try:
        while True:
            (scene.folder / f"full-{number}").touch()
            number += 1
    except OSError:
        pass
    kill_engines(scene)
    keep_typing(3.0)
    # A socket needs a file. There are drafts at most until there is room for one again.
    full.unlink()
    for path in scene.folder.glob("full-*"):
        path.unlink()
    return Struck(perf_counter())


def slow_disk(scene: Scene, _rng: random.Random) -> Struck:
    """Kill the engine while every file of the servers takes long to open; they have been so slow from the start."""
    return Struck(kill_engines(scene))


def jump_clock(scene: Scene, rng: random.Random) -> Struck:
    """Let the wall clock of the servers jump, and back."""
    since = perf_counter()
    set_clock(scene.folder, rng.choice((3600, -3600, 86_400 * 400, -86_400)))
    keep_typing(1.5)
    set_clock(scene.folder, 0)
    return Struck(since)


def replace_model(scene: Scene, _rng: random.Random) -> Struck:
    """Put another file of the same content in the place of the weights while they are used, then kill the engine."""
    weights = Path(scene.options["model"]) / "model.safetensors"
    fresh = weights.with_suffix(".fresh")
    shutil.copyfile(weights, fresh)
    fresh.replace(weights)
    keep_typing(0.5)
    return Struck(kill_engines(scene))


def truncate_model(scene: Scene, _rng: random.Random) -> Struck:
    """Cut the weights' file in place while they are used. They are put back after a moment."""
    weights = Path(scene.options["model"]) / "model.safetensors"
    whole = weights.read_bytes()
    os.truncate(weights, len(whole) // 2)
    keep_typing(2.0)
    weights.write_bytes(whole)
    return Struck(perf_counter())


def _add_window(scene: Scene) -> Steady:
    one = scene.more(len(scene.steady))
    scene.steady.append(one)
    one.window.until_ready()
    one.start()
    return one


def _left_behind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as leftover:
        leftover.bind(str(path))
    path.chmod(0o600)


def _no_socket(path: Path) -> None:
    path.write_text("not a socket")


def _link(path: Path) -> None:
    path.symlink_to("/nowhere")


def _deaf(path: Path) -> "subprocess.Popen[bytes]":
    """Return a process that takes connections and says nothing."""
    process = subprocess.Popen([sys.executable, "-c", DEAF, str(path)])
    wait_for(path.exists, 10.0)
    return process
