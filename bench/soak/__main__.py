"""An editing day in three windows that share one engine.

    python -m bench.soak --keystrokes 20000 --seed 1 --out bench/results/soak/day.jsonl

Three real servers over stdio, one in each position encoding, and one engine in a runtime folder of its own. Somebody
works in each window at the same time: types, deletes, undoes, pastes, opens and closes files, takes suggestions and
next edits. Every answer is checked, and the servers' texts are compared with the editors' throughout and at the end.
Before the day, each window opens files of every language, which loads the grammars.

Exits with 1 if anything was lost, wrong, late by the server's own doing, or grew.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from bench.json_lines import write_lines
from bench.soak.corpus import read_corpus
from bench.soak.editor_window import BUDGET_MS, EditorWindow
from bench.soak.memory_monitor import MemoryMonitor, engines_in
from bench.soak.report import draw, is_sound, summarize
from bench.soak.ticker import Ticker, keep_own_delays_short
from bench.soak.typist import Typist
from infill_engine.errors import InfillError

SETTLE_SECONDS = 2.0  # after the last document was closed, until memory is looked at
ENCODINGS = ("utf-8", "utf-16", "utf-32")


def main() -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args()
    keep_own_delays_short()
    try:
        rows, memory, summary = spend_day(options.keystrokes, options.seed, options.model)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 1
    if options.out:
        written = write_lines([*rows, *memory], options.out)
        stem = written.name.removesuffix(".gz").removesuffix(".jsonl")
        written.with_name(f"{stem}-summary.json").write_text(json.dumps(summary, indent=1) + "\n")
        draw(rows, memory, BUDGET_MS, written.with_name(f"{stem}.png"))
    print(json.dumps(summary, indent=1))
    return 0 if is_sound(summary) else 1


def spend_day(
    keystrokes: int, seed: int, model: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    """Press so many keys in all windows together. Return a row for each request, the memory, and the summary."""
    with tempfile.TemporaryDirectory(prefix="infill-") as name:
        folder = Path(name)
        windows = _open_windows(folder, model)
        corpus = read_corpus(seed)
        typists = [Typist(window, corpus, seed) for window in windows]
        for typist in typists:
            typist.warm_up()
        ticker, began, load = Ticker(), perf_counter(), os.getloadavg()
        servers = {f"server {window.number}": window.client.process.pid for window in windows}
        memory_monitor = MemoryMonitor(servers, _runtime(folder))
        engines = engines_in(_runtime(folder))
        memory_monitor.look()
        memory_monitor.start()
        try:
            broken = _work(typists, keystrokes)
            seconds = perf_counter() - began
            if not broken:
                for window in windows:
                    window.close_documents()
                sleep(SETTLE_SECONDS)
        finally:
            memory_monitor.close()
            for window in windows:
                _end(window)
            ticker.close()
    rows = sorted((row for window in windows for row in window.rows), key=lambda row: float(row["sent"]))
    rows = [row for row in rows if row["sent"] >= began or "fault" in row]
    for row in rows:
        until = row["sent"] + (row["ms"] or 0.0) / 1000
        row["stalled_ms"] = round(ticker.delay_ms(row["sent"], until), 2)
        row["at"] = round(row.pop("sent") - began, 3)
    for row in memory_monitor.rows:
        row["at"] = round(row["at"] - began, 3)
    summary = {
        "model": model,
        "seed": seed,
        "windows": len(windows),
        "keystrokes": sum(window.keystrokes for window in windows),
        "seconds": round(seconds, 1),
        "engines": len(engines),
        "engine_changed": engines != memory_monitor.rows[-1]["engines"],
        "wrong": [*broken, *(fault for window in windows for fault in window.faults)],
        **summarize(rows, memory_monitor.rows, BUDGET_MS),
        "machine": _machine(ticker, load, seconds),
    }
    return rows, memory_monitor.rows, summary


def _machine(ticker: Ticker, load_before: tuple[float, float, float], seconds: float) -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "load_before": [round(each, 2) for each in load_before],
        "load_after": [round(each, 2) for each in os.getloadavg()],
        "longest_stall_ms": round(ticker.longest_ms(), 1),
        "stalled_share": round(ticker.share(seconds), 4),
        "nice": os.nice(0),
    }


def _open_windows(folder: Path, model: str) -> list[EditorWindow]:
    """Open one after the other, so that the first starts the engine."""
    windows = []
    for number, encoding in enumerate(ENCODINGS, 1):
        window = EditorWindow(
            number, encoding, {"model": model}, runtime=_runtime(folder), state=folder / f"state-{number}"
        )
        windows.append(window)
        window.until_ready()
    return windows


def _runtime(folder: Path) -> Path:
    runtime = folder / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return runtime


def _work(typists: list[Typist], keystrokes: int) -> list[str]:
    """Work in all windows at once. Return the names of what broke off."""
    broken: list[str] = []

    def work(typist: Typist) -> None:
        try:
            typist.work(-(-keystrokes // len(typists)))
        except Exception as fault:
            broken.append(f"window {typist.window.number} broke off: {type(fault).__name__}: {fault}")
            for each in typists:
                each.stop.set()

    threads = [threading.Thread(target=work, args=(typist,)) for typist in typists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return broken


def _end(window: EditorWindow) -> None:
    try:
        window.close()
    except (OSError, InfillError) as fault:
        window.faults.append(f"could not close the window: {type(fault).__name__}")
        window.kill()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description="An editing day in three windows.")
    parser.add_argument("--keystrokes", type=int, default=20_000, help="in all windows together")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--model", default="default")
    parser.add_argument("--out", type=Path, help="file for the rows; the summary and the picture are put beside it")
    return parser


if __name__ == "__main__":
    sys.exit(main())
