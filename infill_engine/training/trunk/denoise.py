"""Trains the trunk's mask rows to propose tokens, from scratch or from the run's checkpoint.

    python -m infill_engine.training.trunk.denoise --run training/denoise --minutes 120
    python -m infill_engine.training.trunk.denoise --run training/denoise --minutes 20 --decay
    python -m infill_engine.training.trunk.denoise --run training/denoise --export infill_engine/weights/trunk

The trunk is frozen, with its fill-in-the-middle adapter merged. Windows with holes are drawn from the corpus. Mask rows
after many of their tokens learn the trunk's own predictions. log.jsonl records how often each slot agrees with the
trunk's choice, on windows of the calibration packages, which are never trained on.
"""

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from infill_engine.errors import InfillError, TrainingError
from infill_engine.models.registry import folder_of
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.denoiser import BLOCK
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.products import fastest_kernel
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.training.trunk import run_folder
from infill_engine.training.trunk.__main__ import LARGEST_SHARE, read_corpus
from infill_engine.training.trunk.data import ExampleSettings, Window, draw_window
from infill_engine.training.trunk.denoised import DenoisedTrunk, Slots, mean_loss, survival_of
from infill_engine.training.trunk.snippets import File

RATE, WARMUP_STEPS, LEAST_RATE = 3e-4, 20, 0.02
WINDOWS, ANCHORS = 5, 40  # per step, and per window
EXAMPLES = ExampleSettings(window_chars=600, short_chars=(20, 80), long_chars=(80, 200), long_suffix=0.2, holes=3)
EVALUATED_WINDOWS, EVALUATED_ANCHORS = 12, 40
SAVE_SECONDS, EVALUATE_STEPS, REPORT_STEPS = 240, 50, 5
MOST_SKIPPED = 8  # steps in a row without a finite gradient
STARTING_TOKEN = "<|fim_pad|>"


@dataclass(slots=True)
class Run:
    """All state that a training loop changes."""

    folder: Path
    trunk: DenoisedTrunk
    optimiser: torch.optim.AdamW
    progress: dict[str, float] = field(default_factory=lambda: {"steps": 0, "slots": 0, "seconds": 0.0})
    survival: tuple[float, ...] = (0.0,) * BLOCK
    stopping: bool = False


def main() -> None:
    options = _parser().parse_args()
    try:
        folder = options.trunk or folder_of("trunk")
        if folder is None:
            raise TrainingError("there is no trunk on this machine; name its folder with --trunk")
        vocabulary = TrunkVocabulary(folder / "tokenizer.json")
        weights = TrunkWeights(folder)
        run = open_run(options.run, weights, Adapter.load(options.adapter or folder), options.rank)
        if not run.progress["steps"]:
            run.trunk.start_masks_from(*vocabulary.need(STARTING_TOKEN))
        if options.export:
            run.trunk.denoiser(run.survival).save(options.export)
            return
        signal.signal(signal.SIGTERM, lambda *_: _stop(run))
        signal.signal(signal.SIGINT, lambda *_: _stop(run))
        train(run, vocabulary, options)
    except InfillError as error:
        sys.exit(str(error))


def open_run(folder: Path, weights: TrunkWeights, adapter: Adapter, rank: int) -> Run:
    """Open the run in the folder, from its checkpoint if there is one. Raises ModelError or TrainingError."""
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    kernel = fastest_kernel(weights.config)
    if kernel is None:
        raise TrainingError("this CPU has no usable int8 kernel, which the frozen trunk is multiplied by")
    torch.set_num_threads(os.cpu_count() or 1)
    trunk = DenoisedTrunk(weights, adapter, kernel, rank)
    optimiser = torch.optim.AdamW(trunk.parameters.values(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.0)
    run = Run(folder, trunk, optimiser)
    if restored := run_folder.restore(folder, trunk.parameters, optimiser, "progress", "survival"):
        run.progress, run.survival = restored[0], tuple(restored[1])
    return run


def train(run: Run, vocabulary: TrunkVocabulary, options: argparse.Namespace) -> None:
    """Train until the minutes are over or the process is told to stop, then save and evaluate."""
    texts = read_corpus(options.corpus)
    held_out = held_out_windows(options.heldout, vocabulary)
    shares = [min(len(file.text), LARGEST_SHARE) for file in texts]
    rng = random.Random(2000 + int(run.progress["steps"]))
    torch.manual_seed(int(run.progress["steps"]))
    began = saved = time.monotonic()
    losses: list[float] = []
    skipped = 0
    while not run.stopping and (left := 1 - (time.monotonic() - began) / (60 * options.minutes)) > 0:
        started = time.monotonic()
        windows = [_drawn(texts, shares, vocabulary, rng) for _ in range(WINDOWS)]
        rate = min(1.0, (run.progress["steps"] + 1) / WARMUP_STEPS) * (max(LEAST_RATE, left) if options.decay else 1)
        loss, slots = step(run, windows, RATE * rate, rng)
        skipped = skipped + 1 if loss is None else 0
        if skipped == MOST_SKIPPED:
            raise TrainingError(f"{skipped} steps in a row had no finite gradient; the checkpoint is from before them")
        if loss is None:
            continue
        losses.append(loss)
        run.progress["steps"] += 1
        run.progress["slots"] += slots
        run.progress["seconds"] += time.monotonic() - started
        if run.progress["steps"] % REPORT_STEPS == 0:
            _report(run, losses[-40:])
        if run.progress["steps"] % EVALUATE_STEPS == 0:
            _log(run, evaluate(run, held_out), losses[-EVALUATE_STEPS:])
        if time.monotonic() - saved > SAVE_SECONDS:
            _save(run)
            saved = time.monotonic()
    _save(run)  # a process told to stop may be killed before the evaluation ends
    _log(run, evaluate(run, held_out), losses[-EVALUATE_STEPS:])
    _save(run)


def step(run: Run, windows: Sequence[Window], rate: float, rng: random.Random) -> tuple[float | None, int]:
    """Take one optimiser step. Returns its mean loss in nats (None if the gradient was not finite) and slot count."""
    for group in run.optimiser.param_groups:
        group["lr"] = rate
    run.optimiser.zero_grad()
    total, count = 0.0, 0
    for window in windows:
        slots = run.trunk.learn(window, ANCHORS, rng)
        loss = mean_loss(slots) / len(windows)
        loss.backward()
        total += loss.item()
        count += len(slots.places)
    norm = torch.nn.utils.clip_grad_norm_(run.trunk.parameters.values(), 1.0)
    if not torch.isfinite(norm):
        return None, 0
    run.optimiser.step()
    return total, count


def evaluate(run: Run, windows: Sequence[Window]) -> dict[str, list[float]]:
    """Return, by slot, the share that equals the trunk's choice.

    Three shares: with the head, without it, and given that all earlier slots are equal. Sets the run's `survival` to
    the last of these.
    """
    rng = random.Random(7)
    found = [run.trunk.evaluate(window, EVALUATED_ANCHORS, rng) for window in windows]
    run.survival = survival_of(found)
    return {
        "head": _shares(found, "right"),
        "alone": _shares(found, "right_alone"),
        "survival": list(run.survival),
        "slots": [float(sum(int((each.places == place).sum()) for each in found)) for place in range(BLOCK)],
    }


def held_out_windows(path: Path, vocabulary: TrunkVocabulary) -> list[Window]:
    """Return windows of a corpus.jsonl that is never trained on, always the same ones."""
    texts, rng = read_corpus(path), random.Random(99)
    shares = [int(len(file.text) > EXAMPLES.window_chars) for file in texts]
    return [_drawn(texts, shares, vocabulary, rng) for _ in range(EVALUATED_WINDOWS)]


def _drawn(texts: Sequence[File], shares: Sequence[int], vocabulary: TrunkVocabulary, rng: random.Random) -> Window:
    while True:
        file = rng.choices(texts, shares)[0]
        window = draw_window(file.text, file.language, vocabulary, EXAMPLES, rng)
        if window is not None:
            return window


def _shares(found: Sequence[Slots], name: str) -> list[float]:
    places = torch.cat([each.places for each in found])
    right = torch.cat([getattr(each, name) for each in found]).float()
    return [round(right[places == place].mean().item(), 4) for place in range(BLOCK)]


def _save(run: Run) -> None:
    values = {"progress": run.progress, "survival": list(run.survival)}
    run_folder.save(run.folder, run.trunk.parameters, run.optimiser, **values)


def _report(run: Run, losses: Sequence[float]) -> None:
    progress = run.progress
    rate = progress["slots"] / progress["seconds"]
    print(
        f"step {progress['steps']:.0f} · {progress['slots']:.0f} slots · {rate:.0f} slots/s · "
        f"loss {sum(losses) / len(losses):.4f}",
        flush=True,
    )


def _log(run: Run, evaluated: dict[str, list[float]], losses: Sequence[float]) -> None:
    loss = round(sum(losses) / max(len(losses), 1), 4)
    run_folder.log(run.folder, **run.progress, loss=loss, held_out=evaluated)


def _stop(run: Run) -> None:
    print("stopping after this step", file=sys.stderr)
    run.stopping = True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infill_engine.training.trunk.denoise", description="Train the denoiser."
    )
    add = parser.add_argument
    add("--run", type=Path, default=Path("training/denoise"), help="folder of the checkpoint and the log")
    add("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"))
    add("--heldout", type=Path, default=Path("training/calibration/corpus.jsonl"), help="texts to evaluate on")
    add("--trunk", type=Path, default=None, help="folder of the trunk; the one that would be served by default")
    add("--adapter", type=Path, default=None, help="folder of its adapter; the trunk's own by default")
    add("--minutes", type=float, default=60.0)
    add("--decay", action="store_true", help="let the learning rate fall to zero over these minutes")
    add("--rank", type=int, default=16)
    add("--export", type=Path, default=None, metavar="FOLDER", help="write the denoiser there and train nothing")
    return parser


if __name__ == "__main__":
    main()
