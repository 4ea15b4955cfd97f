"""Many users who type at once against one server: who is answered in time, and what it costs.

    python -m bench.users --serve http --serve "ray --replicas 1" --serve "ray --replicas 2" [--users 1 5 20 50]

Each user types real code at 5 characters a second, asks after every character as Tabby's plugins do, and waits 300 ms.
Every kind of server starts an engine of its own. The users run on the same cores. One JSON line for each number
of users: the share of keystrokes with a reply, and with a candidate; times of the replies in milliseconds; seconds of
processor time of the server and its engines for 1,000 keystrokes; their memory in MB.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from bench.replay.keystrokes import Replay, make_replay
from bench.replay.sources import standard_library

KEYSTROKE_SECONDS = 0.2
IN_TIME_MS = 300.0
BUDGET_MS = 280
LINES = 200
START_SECONDS = 300


@dataclass
class Typed:
    """What became of the keystrokes of all users. Times are in milliseconds, of those with a reply in time."""

    keystrokes: int = 0
    times: list[float] = field(default_factory=list)
    shown: int = 0  # with a candidate
    failed: int = 0  # with another status than 200


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", action="append", required=True, help='"http", or "ray --replicas N"')
    parser.add_argument("--users", type=int, nargs="+", default=[1, 5, 20, 50])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--model", default="default")
    options = parser.parse_args()
    replays = [make_replay(standard_library(), LINES, 400, seed) for seed in range(max(options.users))]
    for how in options.serve:
        with _serving(how, options.model) as (url, process):
            asyncio.run(_typing(url, replays[:1], 5.0))  # what is loaded on first use
            for users in options.users:
                before = _processor_seconds(process)
                typed = asyncio.run(_typing(url, replays[:users], options.seconds))
                spent = _processor_seconds(process) - before
                print(json.dumps({"serve": how, "users": users, **_figures(typed, spent, process)}), flush=True)


def _figures(typed: Typed, spent: float, process: psutil.Process) -> dict[str, Any]:
    times = sorted(typed.times)
    at = {f"p{share}": round(times[len(times) * share // 100]) if times else None for share in (10, 50, 90)}
    return {
        "keystrokes": typed.keystrokes,
        "in_time": round(len(times) / typed.keystrokes, 3),
        "shown": round(typed.shown / typed.keystrokes, 3),
        "failed": typed.failed,
        **at,
        "cpu_s_per_1000": round(1000 * spent / typed.keystrokes, 1),
        "memory_mb": round(sum(each.memory_full_info().pss for each in _tree(process)) / 1e6),
        "load": round(os.getloadavg()[0], 1),
    }


async def _typing(url: str, replays: list[Replay], seconds: float) -> Typed:
    typed = Typed()
    end = time.monotonic() + seconds
    await asyncio.gather(*(_user(url, number, replay, end, typed) for number, replay in enumerate(replays)))
    return typed


async def _user(url: str, number: int, replay: Replay, end: float, typed: Typed) -> None:
    """Type until the time is over. The pace varies between users, so that they do not ask at the same moments."""
    lines = replay.text.split("\n")
    await asyncio.sleep(random.Random(number).random() * KEYSTROKE_SECONDS)
    asked = []
    for stroke in replay.keystrokes:
        if time.monotonic() > end:
            break
        before = "\n".join([*lines[: stroke.row], lines[stroke.row][: stroke.column]])
        after = "\n".join(["", *lines])[len(before) + 1 :][stroke.removed :]
        lines = f"{before}{stroke.text}{after}".split("\n")
        asked.append(asyncio.create_task(_ask(url, f"user{number}.py", before + stroke.text, after, typed)))
        typed.keystrokes += 1
        await asyncio.sleep(KEYSTROKE_SECONDS)
    await asyncio.gather(*asked)


async def _ask(url: str, path: str, before: str, after: str, typed: Typed) -> None:
    begun = time.monotonic()
    body = json.dumps(
        {"language": "python", "segments": {"prefix": before, "suffix": after, "filepath": path}}
    ).encode()
    place = urlsplit(url)
    try:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
    except OSError:
        typed.failed += 1
        return
    try:
        head = f"POST /v1/completions HTTP/1.1\r\nHost: {place.netloc}\r\nConnection: close\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        async with asyncio.timeout(IN_TIME_MS / 1000):
            said = await reader.read()
        took_ms = 1000 * (time.monotonic() - begun)
        if not said.startswith(b"HTTP/1.1 200"):
            typed.failed += 1
            return
        typed.times.append(took_ms)
        typed.shown += b'"text":' in said
    except TimeoutError:
        return
    except OSError:
        typed.failed += 1
    finally:
        writer.close()


@contextlib.contextmanager
def _serving(how: str, model: str) -> Iterator[tuple[str, psutil.Process]]:
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(prefix="infill-") as sockets:
        Path(name, "settings.json").write_text(json.dumps({"model": model, "budgetMs": BUDGET_MS}))
        log = Path(name, "log")
        environment = {
            **os.environ,
            "INFILL_STATE_DIR": name,
            "INFILL_RUNTIME_DIR": sockets,
            "INFILL_ENGINE_IDLE_SECONDS": "0",
        }
        with log.open("wb") as errors:
            command = [sys.executable, "-m", "lsp_server", "serve", *f"--{how}".split(), "--port", "0"]
            process = subprocess.Popen(command, stderr=errors, env=environment)
        try:
            end = time.monotonic() + START_SECONDS
            while not (url := _ready(log)):
                if process.poll() is not None or time.monotonic() > end:
                    raise SystemExit(log.read_text())
                time.sleep(0.5)
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(START_SECONDS)


def _ready(log: Path) -> str:
    """Return the address of a server that has loaded its model, "" until then."""
    found = re.search(r"listening on (\S+)", log.read_text())
    with contextlib.suppress(OSError):
        if found is not None and urllib.request.urlopen(f"{found[1]}/health").status == 200:
            return found[1]
    return ""


def _tree(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def _processor_seconds(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in _tree(process)]
    return sum(each.user + each.system for each in times)


if __name__ == "__main__":
    main()
