"""`infill-ls engine`: the shared engines of this user, their state, and how to end them.

status     what each engine knows of itself; --json for programs
restart    ends the engines; open editor windows start them again
stop       does the same
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
from msgspec import structs
from rich.table import Table

from infill_engine.serving.frames import decode, encode
from infill_engine.serving.protocol import LATENCY_BOUNDS_MS, Measure, Measured, Shutdown
from infill_engine.serving.runtime_files import is_safe, runtime_folder, supported
from lsp_server.cli.terminal import bars_of, console_of
from lsp_server.engine_client import shared
from lsp_server.engine_client.link import kill

ANSWER_SECONDS = 5.0
EXIT_SECONDS = 5.0


def run(options: argparse.Namespace) -> int:
    """Show or end the engines. Return the exit status: 1 if an engine does not answer. Raises RuntimeFolderError."""
    paths = sorted(runtime_folder().glob("*.sock")) if supported else []
    if options.what == "status":
        return _status(paths, as_json=options.json)
    ended = [pid for path in paths if (pid := stop(path)) is not None]
    if options.json:
        print(json.dumps({"ended": ended}))
    elif not ended:
        print("no engine runs")
    else:
        again = "; open editor windows start it again" if options.what == "restart" else ""
        print(f"ended {', '.join(map(str, ended))}{again}")
    return 0


def measure(path: Path) -> Measured | None:
    """Return what an engine knows about itself; None if nothing answers at this socket."""
    connection = shared.connect(path) if is_safe(path) else None
    if connection is None:
        return None
    with connection:
        if shared.greet(connection, ends_hung=False) is None:
            return None
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.sendall(encode(Measure()))
            while payload := shared.read_payload(connection):
                if isinstance(message := decode(payload), Measured):
                    return message
        except OSError:
            pass
    return None


def stop(path: Path) -> int | None:
    """End an engine, by force if it does not answer. Return its process id; None if there was none."""
    connection = shared.connect(path) if is_safe(path) else None
    if connection is None:
        return None
    with connection:
        pid = shared.greet(connection)  # ends one that hangs
        if pid is None:
            return None
        connection.sendall(encode(Shutdown()))
        try:
            psutil.Process(pid).wait(EXIT_SECONDS)
        except psutil.TimeoutExpired:
            kill(pid)
        except psutil.NoSuchProcess:
            pass
        return pid


def _status(paths: list[Path], *, as_json: bool) -> int:
    found = [(path, measure(path)) for path in paths]
    if as_json:
        print(json.dumps([{"socket": str(path), **(structs.asdict(seen) if seen else {})} for path, seen in found]))
    elif not found:
        print("no engine runs")
    else:
        console = console_of(sys.stdout)
        for path, seen in found:
            console.print("\n".join(_lines(path, seen)), soft_wrap=True)
            if seen is not None and seen.answers:
                console.print(_histogram(seen.latency_counts))
    return int(any(seen is None for _, seen in found))


def _lines(path: Path, seen: Measured | None) -> list[str]:
    if seen is None:
        return [f"{path}: nothing answers; `infill-ls engine stop` or the next client removes it"]
    cached = f"{100 * seen.from_cache / seen.answers:.0f} % from the cache" if seen.answers else "none yet"
    middle, ninety, most = seen.latency_ms
    return [
        f"engine {seen.pid}: {seen.model or 'no model'} on {seen.device or 'no device'}, {seen.state}",
        f"  clients  {seen.clients}",
        f"  memory   {seen.memory_bytes / 1e6:.0f} MB",
        f"  running  {seen.seconds:.0f} s, version {seen.version}",
        f"  waiting  {seen.waiting}",
        f"  answers  {seen.answers}, {cached}",
        f"  latency  {middle:.0f} ms median, {ninety:.0f} ms p90, {most:.0f} ms p99",
        f"  socket   {path}",
    ]


def _histogram(counts: Sequence[int]) -> Table:
    """Return how many answers took how long."""
    bounds = [*(f"≤ {bound} ms" for bound in LATENCY_BOUNDS_MS), f"> {LATENCY_BOUNDS_MS[-1]} ms"]
    return bars_of([(bound, count, "blue", "") for bound, count in zip(bounds, counts, strict=True) if count])
