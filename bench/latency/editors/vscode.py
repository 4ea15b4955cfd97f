"""Measures from a key press in a real VS Code to the ghost text in its window.

    python -m bench.latency.editors.vscode [--model default] [--keystrokes 200] [--budget-ms 150] [--show-threshold 0.1]

Types real code in a headless workbench (see tests/e2e/vscode) and watches the page. For each character it measures how
long the ghost text took to change, and separates what the editor kept of an earlier suggestion (`kept`) from a new
answer (`fresh`). The server's own share, from a request's arrival to the reply, comes from the server's counts. The
rest is the editor's: debounce, transport in both directions, drawing. The last line is one JSON object; times are in
milliseconds.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.replay.keystrokes import Keystroke, Stroke, make_replay
from bench.replay.sources import standard_library
from bench.spread import spread

REPOSITORY = Path(__file__).parents[3]
HARNESS = REPOSITORY / "tests" / "e2e" / "vscode"
MEASURED = (Stroke.END, Stroke.MIDDLE)
PATIENCE_SECONDS = 0.8  # after a key; a faster typist sees only what is shown by then
POLL_SECONDS = 0.01  # how often the page's record is polled; the timestamps are the page's own

_WATCH = """(() => {
    const ghost = () => [...document.querySelectorAll('.monaco-editor [class*=ghost-text]')]
        .map(element => element.textContent).join('');
    const bench = window.infillBench = {
        arm() { Object.assign(bench, { before: ghost(), down: 0, shown: 0, after: '' }); },
        read() { return [bench.down, bench.shown, bench.before, bench.after]; },
    };
    document.addEventListener('keydown', event => { bench.down ||= event.timeStamp; }, true);
    new MutationObserver(() => {
        const now = ghost();
        if (bench.down && !bench.shown && now && now !== bench.before) {
            Object.assign(bench, { shown: performance.now(), after: now });
        }
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
})()"""


def main() -> int:
    options = _options()
    sys.path.insert(0, str(HARNESS))
    subprocess.run([str(HARNESS / "setup")], check=True, stdout=sys.stderr)
    settings = {
        "serverPath": str(REPOSITORY / ".venv" / "bin" / "infill-ls"),
        "model": options.model,
        "budgetMs": options.budget_ms,
        "showThreshold": options.show_threshold,
    }
    with (
        tempfile.TemporaryDirectory() as scratch,
        importlib.import_module("driver.launch").workbench(Path(scratch), settings) as bench,
    ):
        times = _type(bench, options)
        bench.command("Infill: Restart Engine")  # the server writes its counts when it exits
        home = Path(scratch) / "home"
        bench.until(lambda: _server_times(home)["p50"] is not None, "the server's counts")
        server = _server_times(home)
    _report(times, server, options)
    return 0


def _type(bench: Any, options: argparse.Namespace) -> dict[str, list[float]]:
    """Type the replay until enough keys are measured. Return times by what was shown: fresh, kept, or nothing."""
    # Enough for the requested number of measured keys plus the line breaks and typos between them.
    replay = make_replay(standard_library(), options.lines, 3 * options.keystrokes, options.seed)
    bench.until(lambda: "Ready" in bench.sentence(), "the model", bench.sentence)
    path = bench.open("typed.py", "│" + replay.text)
    bench.browser.call("evaluate", _WATCH)
    times: dict[str, list[float]] = {"fresh": [], "kept": [], "silent": []}
    here = (0, 0)
    for key in replay.keystrokes:
        if here != (key.row, key.column + key.removed):
            bench.go_to(path, key.row + 1, key.column + key.removed + 1)
        _press(bench, key, times)
        here = key.cursor
        if sum(map(len, times.values())) >= options.keystrokes:
            break
    return times


def _press(bench: Any, key: Keystroke, times: dict[str, list[float]]) -> None:
    for _ in range(key.removed):
        bench.press("Backspace")
    if key.stroke not in MEASURED or len(key.text) != 1:
        bench.type_text(key.text)
        return
    bench.browser.call("evaluate", "window.infillBench.arm()")
    bench.type_text(key.text)
    end = time.monotonic() + PATIENCE_SECONDS
    down, shown, before, after = 0.0, 0.0, "", ""
    while not shown and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
        down, shown, before, after = bench.browser.call("evaluate", "window.infillBench.read()")
    how = "silent" if not shown else "kept" if before[1:] == after else "fresh"
    times[how].append(shown - down)


def _server_times(home: Path) -> dict[str, float | None]:
    """Return percentiles that the server counted for this run; None until it has written them."""
    command = [str(REPOSITORY / ".venv" / "bin" / "infill-ls"), "stats", "--json"]
    out = subprocess.run(command, env={"HOME": str(home)}, capture_output=True, text=True, check=True).stdout
    found: dict[str, float | None] = json.loads(out)["total"]["latencyMs"]
    return found


def _report(times: dict[str, list[float]], server: dict[str, float | None], options: argparse.Namespace) -> None:
    print(f"{'':18}" + "".join(f"{name:>9}" for name in ("n", "p50", "p95", "p99", "max")))
    for how in ("fresh", "kept"):
        print(f"{how:18}" + "".join(f"{value:9}" for value in spread(times[how]).values()))
    print(f"{'silent':18}{len(times['silent']):9}")
    print("server alone      " + ", ".join(f"{name} {value} ms" for name, value in server.items()))
    print(
        json.dumps(
            {
                "editor": "vscode",
                "model": options.model,
                "n": sum(map(len, times.values())),
                "fresh": spread(times["fresh"]),
                "kept": spread(times["kept"]),
                "silent": len(times["silent"]),
                "server_ms": server,
                "budget_ms": options.budget_ms,
            }
        )
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.latency.editors.vscode", description="Times VS Code.")
    parser.add_argument("--model", default="default")
    parser.add_argument("--keystrokes", type=int, default=200)
    parser.add_argument("--lines", type=int, default=200, help="of the document that is typed into")
    parser.add_argument("--budget-ms", type=int, default=150)
    parser.add_argument("--show-threshold", type=float, default=0.1, help="the least confidence that is shown")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
