"""Trains the trunk's fill-in-the-middle adapter, from scratch or from the run's checkpoint.

    python -m train.trunk --run training/fim --minutes 120
    python -m train.trunk --run training/fim --minutes 20 --decay      # the rate falls to zero
    python -m train.trunk --run training/more --start infill_engine/weights/trunk --rate 2e-4
    python -m train.trunk --run training/fim --export infill_engine/weights/trunk

Reads files from the corpus (`python -m train.corpus.build`), draws windows with holes, and trains on the holes'
texts. Prints losses on windows of the calibration packages, which are never trained on, and writes them to log.jsonl.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from infill_engine.errors import InfillError, InputError, TrainingError
from infill_engine.models.registry import folder_of
from infill_engine.models.runtime.devices import wanted_threads
from infill_engine.models.runtime.precision import fastest_dtype
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.prompt import TrunkVocabulary
from train.trunk import run_folder
from train.trunk.data import ExampleSettings, Window, draw_window
from train.trunk.network import TrainedTrunk
from train.trunk.snippets import File, Heads

RATE, WARMUP_STEPS, LEAST_RATE = 4e-4, 20, 0.02
MULTIPLIED_ROWS = 2048  # rows multiplied by a matrix at once, approximately
WINDOWS = 2  # per step, by default
LARGEST_SHARE = 30_000  # characters of a file that count when files are drawn, so that huge files do not dominate
EVALUATED_WINDOWS, EVALUATED_HOLES = 16, 10
SAVE_SECONDS, EVALUATE_STEPS, REPORT_STEPS = 240, 100, 5
MOST_SKIPPED = 8  # steps in a row without a finite gradient

WITH_SNIPPETS = 0.5  # share of the windows whose prompts start with snippets of their package


@dataclass(slots=True)
class Run:
    """All state that a training loop changes."""

    folder: Path
    trunk: TrainedTrunk
    vocabulary: TrunkVocabulary
    optimiser: torch.optim.AdamW
    progress: dict[str, float] = field(default_factory=lambda: {"steps": 0, "holes": 0, "seconds": 0.0})
    stopping: bool = False


def main() -> None:
    options = _parser().parse_args()
    try:
        run = open_run(options)
        if options.export:
            run.trunk.adapter(options.export_rank).save(options.export)
            return
        signal.signal(signal.SIGTERM, lambda *_: _stop(run))
        signal.signal(signal.SIGINT, lambda *_: _stop(run))
        train(run, options)
    except InfillError as error:
        sys.exit(str(error))


def open_run(options: argparse.Namespace) -> Run:
    """Open the run in the folder, from its checkpoint if there is one. Raises ModelError or TrainingError."""
    torch.manual_seed(0)
    options.run.mkdir(parents=True, exist_ok=True)
    folder = options.trunk or folder_of("trunk")
    assert folder is not None
    weights = TrunkWeights(folder)
    torch.set_num_threads(wanted_threads() or os.cpu_count() or 1)
    trunk = TrainedTrunk(weights, fastest_dtype("cpu", MULTIPLIED_ROWS), options.rank)
    optimiser = torch.optim.AdamW(trunk.parameters.values(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.0)
    run = Run(options.run, trunk, TrunkVocabulary(folder / "tokenizer.json"), optimiser)
    if restored := run_folder.restore(options.run, trunk.parameters, optimiser, "progress"):
        (run.progress,) = restored
    elif options.start is not None:
        trunk.start_from(Adapter.load(options.start))
    return run


def train(run: Run, options: argparse.Namespace) -> None:
    """Train until the minutes are over or the process is told to stop, then save and evaluate."""
    texts = read_corpus(options.corpus)
    heads = Heads(texts, run.vocabulary, options.snippets)
    held_out = held_out_windows(options.heldout, run.vocabulary, options.snippets)
    shares = [min(len(file.text), LARGEST_SHARE) for file in texts]
    rng = random.Random(1000 + int(run.progress["steps"]))
    began = saved = time.monotonic()
    losses: list[float] = []
    skipped = 0
    while not run.stopping and (left := 1 - (time.monotonic() - began) / (60 * options.minutes)) > 0:
        started = time.monotonic()
        windows = [_drawn(texts, shares, run.vocabulary, rng, heads) for _ in range(options.windows)]
        rate = min(1.0, (run.progress["steps"] + 1) / WARMUP_STEPS) * (max(LEAST_RATE, left) if options.decay else 1)
        loss = step(run, windows, options.rate * rate)
        skipped = skipped + 1 if loss is None else 0
        if skipped == MOST_SKIPPED:
            raise TrainingError(f"{skipped} steps in a row had no finite gradient; the checkpoint is from before them")
        if loss is None:
            continue
        losses.append(loss)
        run.progress["steps"] += 1
        run.progress["holes"] += sum(len(window.holes) for window in windows)
        run.progress["seconds"] += time.monotonic() - started
        if run.progress["steps"] % REPORT_STEPS == 0:
            _report(run, losses[-40:])
        if run.progress["steps"] % EVALUATE_STEPS == 0:
            run_folder.log(run.folder, **run.progress, held_out=evaluate(run.trunk, held_out))
        if time.monotonic() - saved > SAVE_SECONDS:
            run_folder.save(run.folder, run.trunk.parameters, run.optimiser, progress=run.progress)
            saved = time.monotonic()
    run_folder.save(run.folder, run.trunk.parameters, run.optimiser, progress=run.progress)
    run_folder.log(run.folder, **run.progress, held_out=evaluate(run.trunk, held_out))


def step(run: Run, windows: list[Window], rate: float) -> float | None:
    """Take one optimiser step. Returns the mean loss of its tokens in nats, None if the gradient was not finite."""
    for group in run.optimiser.param_groups:
        group["lr"] = rate
    run.optimiser.zero_grad()
    tokens = sum(hole.learned for window in windows for hole in window.holes)
    total = 0.0
    for window in windows:
        loss = run.trunk.score(window, learning=True).losses.sum() / tokens
        loss.backward()
        total += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(run.trunk.parameters.values(), 1.0)
    if not torch.isfinite(norm):
        return None
    run.optimiser.step()
    return total


def evaluate(trunk: TrainedTrunk, windows: list[Window]) -> dict[str, dict[str, float]]:
    """Return the mean loss in nats and the share of correct tokens, by kind of hole and overall."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for window in windows:
        scored = trunk.score(window, learning=False)
        for kind, loss, right in zip(scored.kinds, scored.losses.tolist(), scored.right.tolist(), strict=True):
            for name in (kind, "all"):
                sums[name] = [a + b for a, b in zip(sums[name], (loss, right, 1), strict=True)]
    return {
        name: {"loss": round(loss / count, 4), "right": round(right / count, 4), "tokens": count}
        for name, (loss, right, count) in sorted(sums.items())
    }


def read_corpus(path: Path) -> list[File]:
    """Return the files of a corpus.jsonl. Raises InputError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); build it with train.corpus.build") from error
    files = [json.loads(line) for line in lines]
    return [
        File(file["text"], file.get("language", "python"), file.get("package", ""), file.get("path", ""))
        for file in files
    ]


def held_out_windows(path: Path, vocabulary: TrunkVocabulary, with_snippets: float) -> list[Window]:
    """Return windows of a corpus.jsonl that is never trained on, always the same ones."""
    texts, rng = read_corpus(path), random.Random(99)
    shares = [len(file.text) > EVALUATED_WINDOWS * 100 for file in texts]
    heads, settings = Heads(texts, vocabulary, with_snippets), ExampleSettings(holes=EVALUATED_HOLES)
    return [_drawn(texts, shares, vocabulary, rng, heads, settings) for _ in range(EVALUATED_WINDOWS)]


def _drawn(
    texts: list[File],
    shares: list[Any],
    vocabulary: TrunkVocabulary,
    rng: random.Random,
    heads: Heads,
    settings: ExampleSettings | None = None,
) -> Window:
    while True:
        file = rng.choices(texts, shares)[0]
        head_of = heads.of(file, rng)
        window = draw_window(file.text, file.language, vocabulary, settings or ExampleSettings(), rng, head_of)
        if window is not None:
            return window


def _report(run: Run, losses: list[float]) -> None:
    progress = run.progress
    rate = progress["holes"] / progress["seconds"]
    print(
        f"step {progress['steps']:.0f} · {progress['holes']:.0f} holes · {rate:.2f} holes/s · "
        f"loss {sum(losses) / len(losses):.4f}",
        flush=True,
    )


def _stop(run: Run) -> None:
    print("stopping after this step", file=sys.stderr)
    run.stopping = True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m train.trunk", description="Train the adapter.")
    add = parser.add_argument
    add("--run", type=Path, default=Path("training/fim"), help="folder of the checkpoint and the log")
    add("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"))
    add("--heldout", type=Path, default=Path("training/calibration/corpus.jsonl"), help="texts to evaluate on")
    add("--trunk", type=Path, default=None, help="folder of the trunk; by default, the one that is served")
    add("--start", type=Path, default=None, metavar="FOLDER", help="of the adapter that a new run starts from")
    add("--minutes", type=float, default=60.0)
    add("--rate", type=float, default=RATE, help="learning rate")
    add("--windows", type=int, default=WINDOWS, help="windows in a step, each with up to 16 holes")
    add("--decay", action="store_true", help="let the learning rate fall to zero over these minutes")
    add("--rank", type=int, default=32)
    add("--snippets", type=float, default=WITH_SNIPPETS, metavar="SHARE", help="of the windows with snippets in front")
    add("--export", type=Path, default=None, metavar="FOLDER", help="write the adapter there and train nothing")
    add("--export-rank", type=int, default=16, help="rank of the written adapter")
    return parser


if __name__ == "__main__":
    main()
