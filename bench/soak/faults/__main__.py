"""Faults at random moments under load, each so many times.

    python -m bench.soak.faults --times 20 --seed 1 --out bench/results/soak/faults.jsonl
    python -m bench.soak.faults --only kill_engine pause_server --times 1

Each time, three windows (real servers over stdio) share one engine and are typed in; then something goes wrong. A
request without an answer is lost. Exits with 1 if any was, or if anything else was wrong.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.json_lines import write_lines
from bench.soak.faults import places, preload, processes
from bench.soak.faults.processes import Struck
from bench.soak.faults.scene import Scene, first_good, linger
from bench.soak.faults.table import print_table, summarize
from bench.soak.ticker import Ticker
from bench.soak.watching import engines_in
from bench.soak.window import BUDGET_MS
from infill_engine.errors import InfillError
from infill_engine.models.checkpoint.folder import SMALL_FOLDER

GRACE_MS = 20.0  # after the deadline
SMALL_DISK = "size=2m,nr_inodes=40,mode=700"


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and where the windows live meanwhile."""

    strike: Callable[[Scene, random.Random], Struck]
    slow: bool = False  # all files of the servers
    clock: bool = False  # the servers' wall clock can be set
    small_disk: bool = False  # the runtime and state folders are on a small file system
    own_model: bool = False  # a copy of the small model


FAULTS = {
    fault.strike.__name__: fault
    for fault in (
        Fault(processes.kill_engine),
        Fault(processes.pause_engine),
        Fault(processes.stop_engine),
        Fault(processes.kill_server),
        Fault(processes.pause_server),
        Fault(processes.kill_client),
        Fault(processes.pause_client),
        Fault(processes.start_two),
        Fault(processes.busy_machine),
        Fault(processes.out_of_memory),
        Fault(places.remove_socket),
        Fault(places.replace_socket),
        Fault(places.fill_disk),
        Fault(places.fill_file_system, small_disk=True),
        Fault(places.slow_disk, slow=True),
        Fault(places.jump_clock, clock=True),
        Fault(places.replace_model, own_model=True),
        Fault(places.truncate_model, own_model=True),
    )
}


def main() -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.only:
        for number in range(options.times):
            rows.append(once(name, options.seed * 10_000 + number, options.model, options.windows))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    summary = {"model": options.model, "seed": options.seed, "load": os.getloadavg()[2], "faults": summarize(rows)}
    if options.out:
        written = write_lines(rows, options.out)
        stem = written.name.removesuffix(".gz").removesuffix(".jsonl")
        written.with_name(f"{stem}-summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print_table(summary["faults"])
    return 0 if all(not row["wrong"] and not row["lost"] for row in rows) else 1


def once(name: str, seed: int, model: str, windows: int = 3) -> dict[str, Any]:
    """Let one fault happen once. Return what was counted."""
    fault, rng = FAULTS[name], random.Random(seed)
    row: dict[str, Any] = {"fault": name, "seed": seed, "requests": 0, "lost": 0, "wrong": []}
    if (fault.slow or fault.clock) and not preload.can_preload():
        return {**row, "skipped": "no C compiler"}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="infill-")))
        if fault.small_disk and not stack.enter_context(_mounted(folder)):
            return {**row, "skipped": "this user may not mount a file system"}
        scene = Scene(folder, {"model": _model(model, folder) if fault.own_model else model}, windows)
        if fault.slow or fault.clock:
            scene.server = preload.server_with(folder) if fault.slow else preload.server_with_clock(folder)
        ticker = Ticker()
        stack.callback(ticker.close)
        stack.callback(_end_engines, folder / "run")
        try:
            return {**row, **_struck(fault, scene, rng, ticker)}
        except (InfillError, OSError, ValueError) as broken:
            return {**row, "wrong": [f"{type(broken).__name__}: {broken}", *scene.close()]}


def _struck(fault: Fault, scene: Scene, rng: random.Random, ticker: Ticker) -> dict[str, Any]:
    scene.open()
    linger(rng.uniform(0.2, 1.5))
    began = perf_counter()
    struck = fault.strike(scene, rng)
    seconds = scene.recovered(scene.steady, struck.since)
    any_seconds = [first_good(one.window, struck.since, computed=False) for one in scene.steady]
    engines = scene.engines
    wrong = [*struck.wrong, *scene.close()]
    if struck.engines is not None and len(engines) != struck.engines:
        wrong.append(f"{len(engines)} engines")
    if None in seconds:
        wrong.append("a window had no candidates any more")
    rows = [row for one in scene.steady for row in one.window.rows if row["sent"] >= began - 1.0]
    ticker.close()
    untouched = [row for row in rows if row["window"] not in struck.touched and row["ms"] is not None]
    late = [row for row in untouched if row["ms"] > BUDGET_MS + GRACE_MS]
    stalled = [row for row in late if row["ms"] - BUDGET_MS - GRACE_MS <= _stall_ms(row, ticker)]
    return {
        "requests": len(rows),
        "lost": sum(row.get("fault") == "lost" for row in rows),
        "empty": sum(row["ms"] is not None and not row["items"] for row in rows),
        "late": len(late),
        "late_while_stalled": len(stalled),
        "latest_ms": max((row["ms"] for row in untouched), default=0.0),
        "good_after_s": [None if each is None else round(each, 2) for each in seconds],
        "any_after_s": [None if each is None else round(each, 2) for each in any_seconds],
        "engines": len(engines),
        "wrong": [*wrong, *(row["fault"] for row in rows if row.get("fault", "lost") != "lost")],
    }


def _stall_ms(row: dict[str, Any], ticker: Ticker) -> float:
    return ticker.delay_ms(row["sent"], row["sent"] + row["ms"] / 1000)


def _model(model: str, folder: Path) -> str:
    """Return a copy of the small model, or of the folder that was named."""
    source = SMALL_FOLDER if model == "small" else Path(model)
    shutil.copytree(source, folder / "model")
    return str(folder / "model")


@contextlib.contextmanager
def _mounted(folder: Path) -> Iterator[bool]:
    """Mount a small file system, if this user may. Yield whether it is there."""
    command = ["mount", "-t", "tmpfs", "-o", SMALL_DISK, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def _end_engines(runtime: Path) -> None:
    """End engines that a broken trial has left."""
    import psutil

    for pid in engines_in(runtime):
        with contextlib.suppress(psutil.Error):
            psutil.Process(pid).kill()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.soak.faults", description="Faults under load.")
    parser.add_argument("--times", type=int, default=20, help="how often each fault happens")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=list(FAULTS), metavar="FAULT")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="small")
    parser.add_argument("--out", type=Path, help="file for a row of each time; the summary is put beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
