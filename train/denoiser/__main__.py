"""Trains the denoiser on texts that the trunk wrote, from scratch or from the run's checkpoint.

    python -m train.denoiser --run training/denoiser/run --texts training/middles --slots 3000000

Prints a line a minute, and evaluates on held-out texts. SIGTERM and SIGINT save the checkpoint and end the run after
the current step; the same command resumes it. `--export FILE` writes the weights for serving. Times are processor time,
so that pauses do not count.
"""

import argparse
import random
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import torch

from infill_engine.errors import InfillError, TrainingError
from train.denoiser.deck import Deck
from train.denoiser.layout import Batch, anchors_of, lay_out
from train.denoiser.learning import Learner, Step
from train.denoiser.report import Recent, Tally, shown
from train.denoiser.run import CHECKPOINT, Run, rate_at
from train.denoiser.setup import folders_of, open_learner
from train.denoiser.texts import Text, read_texts
from train.denoiser.vocabulary import WORDS

RATE, CE = 2e-4, 0.1
SHORT = 0.3  # share of the anchors with few known slots that are learned from
MOST_SKIPPED = 8  # steps in a row without a finite gradient
EVALUATED_TEXTS, EVALUATED_ANCHORS = 80, 12


@dataclass(slots=True)
class Clock:
    """Counts seconds of processor time, divided by the number of threads, or of wall time if a device does the work."""

    threads: int
    on_device: bool
    began: float = field(default=0.0)

    def __post_init__(self) -> None:
        self.began = self.now()

    def now(self) -> float:
        """The seconds so far, from any zero."""
        return time.monotonic() if self.on_device else time.process_time() / self.threads

    def lap(self) -> float:
        """Return the seconds since the last lap."""
        before, self.began = self.began, self.now()
        return self.began - before


def main() -> None:
    options = parser().parse_args()
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopping.append(number))
    try:
        torch.set_num_threads(1 if options.device == "cpu" else 4)
        if options.export is not None:
            write_served(options)
            return
        options.run.mkdir(parents=True, exist_ok=True)
        learner, run = open_learner(options)
        train(learner, run, options, stopping)
    except InfillError as error:
        sys.exit(str(error))


def write_served(options: argparse.Namespace) -> None:
    """Write the weights of the run's checkpoint to a file for serving. Raises TrainingError without one."""
    from infill_engine.models.trunk.sources import ShardsSource  # these need more than torch
    from train.denoiser.export import export

    if not (options.run / CHECKPOINT).is_file():
        raise TrainingError(f"no checkpoint in {options.run}")
    learner, run = open_learner(options)
    found = evaluate(learner, run, some_of(read_texts(options.held_out), options.evaluated))
    export(run, ShardsSource(*folders_of(options.trunk)), found.accepted, options.export)
    print(f"{run.progress.slots} trained slots, {options.export.stat().st_size / 1e6:.1f} MB in {options.export}")


def train(learner: Learner, run: Run, options: argparse.Namespace, stopping: list[int]) -> None:
    """Train until the slots are trained, the time is over or the process is told to stop; then save and evaluate."""
    on_device = options.device != "cpu"
    step, clock = Step(0 if on_device else options.workers), Clock(options.workers, on_device)
    deck = Deck(options.texts, run.progress.dealt, run.progress.steps)
    texts, held_out = deck.texts(), some_of(read_texts(options.held_out), options.evaluated)
    generator = torch.Generator().manual_seed(run.progress.steps)
    began = reported = evaluated = saved = time.monotonic()
    recent, skipped = Recent(), 0
    while not stopping and run.progress.slots < options.slots and time.monotonic() - began < 60 * options.minutes:
        batches = draw(list(islice(texts, options.batch)), options, generator)
        clock.lap()
        scores, count = step.gradients(learner, run.weights, batches)
        share = max(run.progress.slots / options.slots, (time.monotonic() - began) / (60 * options.minutes))
        skipped = 0 if run.step(rate_at(share, options.rate)) else skipped + 1
        if skipped == MOST_SKIPPED:
            raise TrainingError(f"{skipped} steps in a row had no finite gradient; the checkpoint is from before them")
        spent = clock.lap()
        run.progress.add(count, options.batch, spent)
        recent.add(scores, count, spent)
        now = time.monotonic()
        if now - reported > 60:
            print(f"{run.progress.slots} slots · step {run.progress.steps} · {recent.line(now - reported)}", flush=True)
            recent, reported = Recent(), now
        if now - saved > 60 * options.save:
            run.save(options.run)
            saved = now
        if held_out and now - evaluated > 60 * options.evaluate:
            evaluate(learner, run, held_out)
            evaluated = time.monotonic()
    run.save(options.run)
    if held_out and not stopping:
        evaluate(learner, run, held_out)


def some_of(texts: Iterable[Text], count: int) -> list[Text]:
    """Return `count` of the texts, chosen at random but always the same ones."""
    found = list(texts)
    return random.Random(0).sample(found, min(count, len(found)))


def draw(texts: list[Text], options: argparse.Namespace, generator: torch.Generator) -> list[Batch]:
    """Lay out texts with random anchors. A batch has `options.together` texts of similar length."""
    chosen = [(text, anchors_of(text, options.anchors, options.above, generator, short=SHORT)) for text in texts]
    chosen = sorted((pair for pair in chosen if len(pair[1])), key=lambda pair: len(pair[0]))
    parts = [chosen[start : start + options.together] for start in range(0, len(chosen), options.together)]
    return [lay_out([text for text, _ in part], [anchors for _, anchors in part]) for part in parts]


def evaluate(learner: Learner, run: Run, texts: list[Text]) -> Tally:
    """Print and return what the proposals are worth on some anchors of held-out texts."""
    generator = torch.Generator().manual_seed(1)
    tally, working = Tally(), learner.working(run.weights)
    missed, count = 0.0, 0
    for text in texts:
        anchors = anchors_of(text, EVALUATED_ANCHORS, 0, generator)
        if len(anchors):
            scored, rows = learner.judge(working, lay_out([text], [anchors]))
            tally.add(scored.right, rows, scored.losses)
            missed += float((scored.confidence - scored.right.float()).square().sum())
            count += len(rows)
    print(
        f"held out at {run.progress.slots} slots: {tally.tokens:.3f} tokens a verify pass · accepted "
        f"{shown(tally.accepted)} · right {shown(tally.right)} · loss {shown(tally.losses)} · "
        f"Brier score of the confidence {missed / max(count, 1):.3f}",
        flush=True,
    )
    return tally


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    made = argparse.ArgumentParser(prog="python -m train.denoiser", description="Train the denoiser.")
    add = made.add_argument
    add("--run", type=Path, default=Path("training/denoiser/run"), help="folder of the checkpoint")
    add("--texts", type=Path, default=Path("training/middles"), help="folder of pieces to learn from")
    add("--held-out", type=Path, default=Path("training/held-out-middles"), help="folder of pieces to evaluate on")
    add("--contexts", type=Path, default=None, help="folder to keep the contexts of texts in")
    add("--trunk", type=Path, default=None, help="folder of the trunk; by default, the one that is served")
    add("--device", default="cpu")
    add("--workers", type=int, default=2, help="threads, each with texts of its own")
    add("--first-layer", type=int, default=0, help="layer at which mask rows enter; 0 without the anchor's state")
    add("--corpus", type=Path, default=None, help="corpus.jsonl whose frequent tokens become the draft vocabulary")
    add("--begin", type=Path, default=None, metavar="FILE", help="exported weights that a new run begins with")
    add("--vocabulary", type=Path, default=None, metavar="FILE", help="checkpoint whose draft vocabulary is used")
    add("--words", type=int, default=WORDS, help="size of the draft vocabulary")
    add("--slots", type=int, default=3_000_000, help="slots to train; the rate falls until then, or over --minutes")
    add("--minutes", type=float, default=1e9, help="most minutes to train")
    add("--rate", type=float, default=RATE, help="highest learning rate")
    add("--ce", type=float, default=CE, help="weight of the cross-entropy; the rest is total variation")
    add("--batch", type=int, default=8, help="texts in a step")
    add("--together", type=int, default=1, help="texts in one pass")
    add("--anchors", type=int, default=128, help="most anchors in a text's middle")
    add("--above", type=int, default=0, help="most anchors in a text's prompt")
    add("--evaluate", type=float, default=15.0, metavar="MINUTES", help="between evaluations")
    add("--evaluated", type=int, default=EVALUATED_TEXTS, help="held-out texts")
    add("--export", type=Path, default=None, metavar="FILE", help="write the weights there and train nothing")
    add("--save", type=float, default=4.0, metavar="MINUTES", help="between checkpoints")
    return made


if __name__ == "__main__":
    main()
