"""Types into the real server, `python -m lsp_server serve`, and measures how long its answers take.

    python -m bench.latency [--keystrokes 1000] [--lines 200,20000] [--model default] --out bench/results/latency.jsonl

Writes one JSON line per keystroke to --out, with a histogram and a summary next to it. The last line printed is one
JSON object with the results and the targets. Run it on an otherwise idle machine.
"""

import argparse
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.json_lines import write_lines
from bench.latency.engine import sources_of
from bench.latency.model_costs import encode_costs, pass_costs, step_costs, windows_of
from bench.latency.targets import judge
from bench.replay.client import LspClient
from bench.replay.keystrokes import Replay, make_replay
from bench.replay.processes import has_torch, memory_mb
from bench.replay.typing_runs import Sample, close_document, closed_loop, open_document, open_loop
from bench.spread import spread
from infill_engine.diagnostics.benchmark.statistics import percentile
from infill_engine.errors import InfillError, InputError

SETTLE_SECONDS = 1.0  # between opening a document and the first keystroke
GRACE_MS = 20  # an answer later than the budget plus this counts as late


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    try:
        files = sources_of(options.source)
        replays = {lines: make_replay(files, lines, options.keystrokes, options.seed) for lines in options.lines}
        samples, server = run_server(options, replays)
        model = {} if options.no_model else _model_costs(options, replays[min(replays)])
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    result = summarise(samples, options.budget_ms) | server | model
    result["targets"] = judge(_measured(result))
    result |= {"model": options.model, "budget_ms": options.budget_ms, "seed": options.seed}
    if options.out:
        _write(samples, result, options)
    _print(result)
    print(json.dumps(result))
    return 0


def run_server(options: argparse.Namespace, replays: dict[int, Replay]) -> tuple[list[Sample], dict[str, Any]]:
    """Return all samples of one server run, and the server's startup time and memory."""
    client = LspClient(sys.stderr if options.log else subprocess.DEVNULL)
    try:
        server: dict[str, Any] = {
            "initialize_ms": round(client.initialize(_settings(options)), 1),
            "ready_ms": round(client.until_ready(), 1),
        }
        server["profile"] = client.profile
        server["memory_after_load"] = memory_mb(client.process.pid)
        samples: list[Sample] = []
        for lines, replay in replays.items():
            samples += _loops(client, replay, lines, options)
        server["memory_at_end"] = memory_mb(client.process.pid)
        server["torch_in_server"] = has_torch(client.process.pid)
        server["exit_status"] = client.close()
    finally:
        client.process.kill()
    return samples, server


def summarise(samples: Sequence[Sample], budget_ms: float) -> dict[str, Any]:
    """Summarise by loop and document size, and compare the largest document with the smallest."""
    groups: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.loop, sample.lines].append(sample)
    found: dict[str, Any] = {f"{loop}_{lines}": figures(group, budget_ms) for (loop, lines), group in groups.items()}
    closed = {lines: group for (loop, lines), group in groups.items() if loop == "closed"}
    if len(closed) > 1:
        few, many = closed[min(closed)], closed[max(closed)]
        found["lines_ratio"] = {
            name: _ratio(percentile(_times(many, way), share), percentile(_times(few, way), share))
            for name, way, share in (("p50", "", 0.5), ("p95", "", 0.95), ("model_p50", "model", 0.5))
        }
    return found


def figures(samples: Sequence[Sample], budget_ms: float) -> dict[str, Any]:
    """Return times from request to answer, in ms. Withdrawn requests (null) are counted, not timed."""
    answered = [sample for sample in samples if sample.served != "cancelled"]
    times = [sample.ms for sample in answered]
    late = [sample for sample in answered if sample.ms > budget_ms]
    by_way = {way: spread(_times(samples, way)) for way in ("model", "typed-through", "refused")}
    by_model = _times(samples, "model")
    third = len(by_model) // 3
    return {
        **spread(times),
        "keystrokes": len(samples),
        "answered_null": len(samples) - len(answered),
        "invoked": sum(sample.invoked for sample in samples),
        "with_candidates": _share(sum(sample.candidates > 0 for sample in answered), len(answered)),
        "late": _share(len(late), len(answered)),
        "late_beyond_grace": _share(sum(sample.ms > budget_ms + GRACE_MS for sample in late), len(answered)),
        "since_key": spread([sample.since_key_ms for sample in answered]),
        "served": by_way,
        # A process may slow down even while its memory looks healthy.
        "model_p50_first_third": round(percentile(by_model[:third], 0.5), 2),
        "model_p50_last_third": round(percentile(by_model[len(by_model) - third :], 0.5), 2),
        "strokes": dict(Counter(sample.stroke for sample in samples)),
    }


def _loops(client: LspClient, replay: Replay, lines: int, options: argparse.Namespace) -> list[Sample]:
    uri = f"file:///bench/typed_{lines}.py"
    samples: list[Sample] = []
    if "closed" in options.loops:
        open_document(client, uri, replay.text)
        time.sleep(SETTLE_SECONDS)
        samples += closed_loop(client, uri, replay, lines)
        close_document(client, uri)
    if "open" in options.loops:
        part = Replay(replay.text, replay.keystrokes[: options.open_keystrokes])
        open_document(client, uri, part.text)
        time.sleep(SETTLE_SECONDS)
        samples += open_loop(client, uri, part, lines, options.seed)
        close_document(client, uri)
    return samples


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    model = options.model
    if Path(model).is_dir():
        model = str(Path(model).resolve())
    return {
        "model": model,
        "budgetMs": int(options.budget_ms),
        "candidates": options.candidates,
        "showThreshold": options.show_threshold,
    }


def _model_costs(options: argparse.Namespace, replay: Replay) -> dict[str, Any]:
    from infill_engine.engine.engine_loading import load_engine
    from infill_engine.sampling.canvas.canvas_sampler import CanvasSampler
    from infill_engine.sampling.trunk.tree_sampler import TreeSampler

    engine = load_engine(options.model)
    windows = windows_of(Replay(replay.text, replay.keystrokes[:200]))
    costs: dict[str, Any] = {}
    if isinstance(engine.proposer, TreeSampler):
        costs = {"pass_ms": pass_costs(engine.proposer.model, windows[-1])}
    elif isinstance(engine.proposer, CanvasSampler):
        family = engine.proposer.model
        costs = {"encode": encode_costs(family, replay), "step_ms": step_costs(family, windows[-1])}
    return {"device": engine.device, "pace_here": engine.profile, **costs}


def _measured(result: dict[str, Any]) -> dict[str, float]:
    """Return the numbers that targets are set for; the worst value if there are several.

    The percentiles cover only answers that the model computed while the client waited (closed loop). Typed-through
    answers come from a cache and would hide them.
    """
    loops = {name: value for name, value in result.items() if name.startswith(("closed_", "open_"))}
    closed = [value["served"]["model"] for name, value in loops.items() if name.startswith("closed_")]
    measured: dict[str, float] = {}
    if closed:
        measured = {name: max(by_model[name] for by_model in closed) for name in ("p50", "p99")}
    if loops:
        measured["max"] = max(loop["max"] for loop in loops.values())
    if "lines_ratio" in result:
        measured["lines_ratio"] = result["lines_ratio"]["model_p50"]
        measured["lines_ratio_all"] = result["lines_ratio"]["p50"]
    if "encode" in result:
        measured["encode_ratio"] = result["encode"]["ratio"]
    for name in ("server_mb", "worker_mb"):
        measured[name] = max(result[moment][name] for moment in ("memory_after_load", "memory_at_end"))
    return measured


def _write(samples: Sequence[Sample], result: dict[str, Any], options: argparse.Namespace) -> None:
    from bench.latency.histogram import draw

    stem = options.out.name.split(".")[0]
    written = write_lines((asdict(sample) for sample in samples), options.out)
    options.out.with_name(f"{stem}-summary.json").write_text(json.dumps(result, indent=1) + "\n")
    draw(samples, options.budget_ms, options.out.with_name(f"{stem}.png"))
    print(f"every keystroke in {written}")


def _print(result: dict[str, Any]) -> None:
    columns = ("n", "p50", "p95", "p99", "max")
    print(f"{'ms, request to answer':24}" + "".join(f"{name:>9}" for name in columns) + "   with candidates   late")
    for name, loop in result.items():
        if name.startswith(("closed_", "open_")):
            numbers = "".join(f"{loop[column]:9.1f}" for column in columns)
            print(f"{name:24}{numbers}{100 * loop['with_candidates']:16.1f} %{100 * loop['late']:6.2f} %")
    for name, target in result["targets"].items():
        print(f"{'met   ' if target['met'] else 'MISSED'}  {name}: {target['value']} (at most {target['most']})")


def _times(samples: Sequence[Sample], way: str) -> list[float]:
    """Return the times of answers served in one `way`. "" means every way except withdrawn."""
    return [sample.ms for sample in samples if sample.served == way or (not way and sample.served != "cancelled")]


def _ratio(many: float, few: float) -> float:
    return round(many / few, 3) if few else 0.0


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def _sizes(text: str) -> list[int]:
    sizes = [int(size) for size in text.split(",")]
    if any(size < 1 for size in sizes):
        raise InputError("a document needs lines")
    return sizes


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description="Times the server's answers.")
    add = parser.add_argument
    add("--keystrokes", type=int, default=1000, help="of the closed loop, for each document size")
    add("--open-keystrokes", type=int, default=300, help="of the open loop; ten a second")
    add("--lines", type=_sizes, default=[200, 20_000], metavar="N,N", help="document sizes")
    add("--loops", nargs="+", default=["closed", "open"], choices=["closed", "open"])
    add("--model", default="default")
    add("--budget-ms", type=float, default=150)
    add("--candidates", type=int, default=4)
    add("--show-threshold", type=float, help="the least confidence that is shown unasked; else the model's own")
    add("--seed", type=int, default=0)
    add("--source", type=Path, help="folder of wheels whose code is typed; else the standard library")
    add("--no-model", action="store_true", help="leave out encode and step costs")
    add("--log", action="store_true", help="let the server write to this terminal")
    add("--out", type=Path, help="where one JSON line for each keystroke goes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
