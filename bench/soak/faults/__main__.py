"""Faults at random moments under load, each so many times.

    python -m bench.soak.faults --times 20 --seed 1 --out bench/results/soak/faults.jsonl
    python -m bench.soak.faults --only kill_engine pause_server --times 1

Three windows (real servers over stdio) share one engine and are typed in; then something goes wrong. A request without
an answer is lost. In each round every fault happens once. Exits with 1 if any was, or if anything else was wrong.
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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

from bench.families import masked
from bench.json_lines import write_lines
from bench.soak.editor_window import BUDGET_MS
from bench.soak.faults import places, preload, processes
from bench.soak.faults.processes import Struck
from bench.soak.faults.scene import Scene, first_good, keep_typing
from bench.soak.faults.table import print_table, summarize
from bench.soak.memory_monitor import engines_in
from bench.soak.ticker import Ticker, keep_own_delays_short
from infill_engine.errors import InfillError

GRACE_MS = 20.0  # after the deadline
SMALL_DISK = "size=2m,nr_inodes=40,mode=700"


Strike = Callable[[Scene, random.Random], Struck]


@dataclass(frozen=True, slots=True)
class Setting:
    """Windows in which one fault after the other happens, and where they live meanwhile."""

    strikes: tuple[Strike, ...]
    slow: bool = False  # all files of the servers
    clock: bool = False  # the servers' wall clock can be set
    small_disk: bool = False  # the runtime and state folders are on a small file system
    own_model: bool = False  # in a folder that may be damaged


# An engine that has died lately is started again later and later, so a setting has few deaths of engines.
SETTINGS = (
    Setting(
        (
            processes.kill_engine,
            processes.pause_server,
            processes.kill_server,
            processes.pause_client,
            processes.kill_client,
            places.remove_socket,
        )
    ),
    Setting((processes.stop_engine, processes.pause_engine, processes.busy_machine, places.replace_socket)),
    Setting((processes.out_of_memory, places.fill_disk)),
    Setting((places.fill_file_system,), small_disk=True),
    Setting((places.slow_disk,), slow=True),
    Setting((places.jump_clock,), clock=True),
    Setting((places.replace_model, places.truncate_model), own_model=True),
)
FAULTS = tuple(strike.__name__ for setting in SETTINGS for strike in setting.strikes)


def main() -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args()
    began, load = perf_counter(), os.getloadavg()
    rows: list[dict[str, Any]] = []
    keep_own_delays_short()
    for number in range(options.times):
        if rows and perf_counter() - began > 60 * options.minutes:
            break
        for setting in SETTINGS:
            rows += in_setting(setting, options.seed * 10_000 + number, options.model, options.windows, options.only)
        _write(rows, options, load)
    print_table(summarize(rows))
    return 0 if all(not row["wrong"] and not row["lost"] for row in rows) else 1


def _write(rows: list[dict[str, Any]], options: argparse.Namespace, load: tuple[float, float, float]) -> None:
    machine = {"cores": os.cpu_count(), "load_before": load, "load_after": os.getloadavg(), "nice": os.nice(0)}
    summary = {"model": options.model, "seed": options.seed, "windows": options.windows, "machine": machine}
    if options.out:
        written = write_lines(rows, options.out)
        stem = written.name.removesuffix(".gz").removesuffix(".jsonl")
        path = written.with_name(f"{stem}-summary.json")
        path.write_text(json.dumps({**summary, "faults": summarize(rows)}, indent=1) + "\n")


def in_setting(
    setting: Setting, seed: int, model: str, windows: int = 3, only: Sequence[str] = FAULTS
) -> list[dict[str, Any]]:
    """Let the faults of a setting happen once, one after the other. Return what was counted around each."""
    strikes = [strike for strike in setting.strikes if strike.__name__ in only]
    rows: list[dict[str, Any]] = []
    if not strikes:
        return rows
    if (setting.slow or setting.clock) and not preload.can_preload():
        return [_skipped(strike, seed, "no C compiler") for strike in strikes]
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="infill-")))
        if setting.small_disk and not stack.enter_context(_mounted(folder)):
            return [_skipped(strike, seed, "this user may not mount a file system") for strike in strikes]
        scene = Scene(folder, {"model": _model(model, folder) if setting.own_model else model}, windows)
        if setting.slow or setting.clock:
            scene.server = preload.server_with(folder) if setting.slow else preload.server_with_clock(folder)
        ticker = Ticker()
        stack.callback(ticker.close)
        stack.callback(_end_engines, folder / "run")
        rng = random.Random(seed)
        wrong: list[str] = []
        try:
            scene.open()
            if len(scene.engines) != 1:
                wrong.append(f"{len(scene.engines)} engines for windows that were opened at once")
            for strike in strikes:
                rows.append({"fault": strike.__name__, "seed": seed, **_struck(strike, scene, rng, ticker)})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
        except (InfillError, OSError, ValueError, psutil.Error) as broken:
            wrong.append(f"{type(broken).__name__}: {broken}")
        wrong += scene.close()
    if wrong and not rows:
        rows.append(_skipped(strikes[0], seed, "the windows did not open"))
    if wrong:
        rows[-1]["wrong"] += wrong
        print(json.dumps(wrong), file=sys.stderr, flush=True)
    return rows


def _struck(strike: Strike, scene: Scene, rng: random.Random, ticker: Ticker) -> dict[str, Any]:
    keep_typing(rng.uniform(0.2, 1.5))
    began = perf_counter()
    struck = strike(scene, rng)
    seconds = scene.recovered(scene.steady, struck.since)
    any_seconds = [first_good(one.window, struck.since, computed=False) for one in scene.steady]
    rows = [row for one in scene.steady for row in one.window.rows if row["sent"] >= began - 1.0]
    for one in struck.added:
        scene.remove(one)
    wrong = list(struck.wrong)
    if None in seconds:
        wrong.append("a window had no candidates any more")
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
        "engines": len(scene.engines),
        "wrong": [*wrong, *(row["fault"] for row in rows if row.get("fault", "lost") != "lost")],
    }


def _skipped(strike: Strike, seed: int, why: str) -> dict[str, Any]:
    return {"fault": strike.__name__, "seed": seed, "requests": 0, "lost": 0, "wrong": [], "skipped": why}


def _stall_ms(row: dict[str, Any], ticker: Ticker) -> float:
    return ticker.delay_ms(row["sent"], row["sent"] + row["ms"] / 1000)


def _model(model: str, folder: Path) -> str:
    """Return a copy of the folder that was named, or a miniature of a published model."""
    if Path(model).is_dir():
        return str(shutil.copytree(model, folder / "model"))
    return str(masked.publish("dream", masked.stock_network("qwen2"), folder / "model"))


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
    for pid in engines_in(runtime):
        with contextlib.suppress(psutil.Error):
            psutil.Process(pid).kill()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.soak.faults", description="Faults under load.")
    parser.add_argument("--times", type=int, default=20, help="how often each fault happens")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no further round after that")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=FAULTS, metavar="FAULT")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="default")
    parser.add_argument("--out", type=Path, help="file for a row of each time; the summary is put beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
