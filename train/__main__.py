"""Trains what is learned beside the frozen trunk, from the run's checkpoint if there is one.

    python -m train next-edits --run training/next-edits/run --histories training/histories --minutes 600
    python -m train holes --run training/holes --corpus training/corpus/corpus.jsonl --held-out FILE
    python -m train mask-rows --run training/mask-rows --texts training/middles --start infill_engine/weights/trunk

Prints a line every three minutes, and evaluates on examples that are never trained on. The checkpoint is replaced every
few minutes; SIGTERM saves it and ends the run. `--export FILE` writes the weights as they are served and trains
nothing.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from infill_engine.errors import InfillError
from train.run import Run, Settings, Task
from train.trunk.base import Base, open_base

RANK = 16
NICE = 19  # on a CPU: the machine's other work goes first


def main() -> None:
    options = parser().parse_args()
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopping.append(number))
    torch.set_num_threads(1)
    try:
        options.run.mkdir(parents=True, exist_ok=True)
        exact = options.exact or options.export is not None
        task = TASKS[options.task](open_base(options.trunk, options.device, exact=exact), options)
        run = Run.open(task, options.run)
        if options.export is not None:
            task.export(run.mean, options.export)
            return
        if options.device == "cpu":
            os.nice(NICE)
        with ThreadPoolExecutor(options.workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            run.train(pool, Settings(*(getattr(options, each.name) for each in fields(Settings))), stopping)
    except InfillError as error:
        sys.exit(str(error))


def _next_edits(base: Base, options: argparse.Namespace) -> Task[Any]:
    from infill_engine.models.trunk.prompt import TrunkVocabulary
    from train.next_edits.task import NextEdits

    vocabulary = TrunkVocabulary(base.folder / "tokenizer.json")
    return NextEdits(base, vocabulary, options.rank, options.histories, options.evaluated)


def _holes(base: Base, options: argparse.Namespace) -> Task[Any]:
    from infill_engine.models.trunk.prompt import TrunkVocabulary
    from train.holes.task import Holes

    vocabulary = TrunkVocabulary(base.folder / "tokenizer.json")
    return Holes(base, vocabulary, options.rank, options.corpus, options.held_out, judged=options.evaluated)


def _mask_rows(base: Base, options: argparse.Namespace) -> Task[Any]:
    from train.mask_rows.task import MaskRows  # needs nothing but torch, numpy and safetensors

    judged, start, layer = options.evaluated, options.start, options.first_layer
    return MaskRows(base, options.texts, options.held_out, judged=judged, start=start, first_layer=layer)


TASKS: dict[str, Callable[[Base, argparse.Namespace], Task[Any]]] = {
    "next-edits": _next_edits,
    "holes": _holes,
    "mask-rows": _mask_rows,
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    shared = argparse.ArgumentParser(add_help=False)
    add = shared.add_argument
    add("--run", type=Path, required=True, help="folder of the checkpoint and the log")
    add("--minutes", type=float, default=600.0)
    add("--examples", type=int, default=20_000, help="the rate falls until then")
    add("--rate", type=float, default=2e-4, help="highest learning rate")
    add("--batch", type=int, default=8, help="examples of a step")
    add("--workers", type=int, default=2, help="examples that are learned from at the same time")
    add("--device", default="cpu")
    add("--exact", action="store_true", help="multiply in floats also where int8 is faster")
    add("--trunk", type=Path, default=None, help="folder of the trunk and its adapter; by default, what is served")
    add("--evaluate", type=float, default=20.0, metavar="MINUTES", help="between evaluations")
    add("--evaluated", type=int, default=120, help="examples to evaluate on")
    add("--seed", type=int, default=0)
    add("--export", type=Path, default=None, metavar="FILE", help="write the served weights there and train nothing")
    made = argparse.ArgumentParser(prog="python -m train", description="Train what is learned beside the trunk.")
    tasks = made.add_subparsers(dest="task", required=True)
    edits = tasks.add_parser("next-edits", parents=[shared], help="the edit adapter; an example has one or two regions")
    edits.add_argument("--histories", type=Path, default=Path("training/histories"), help="of bench.edits.histories")
    holes = tasks.add_parser("holes", parents=[shared], help="the trunk's adapter; an example has up to 16 holes")
    holes.add_argument("--corpus", type=Path, default=Path("training/corpus/corpus.jsonl"))
    holes.add_argument("--held-out", type=Path, default=Path("training/calibration/corpus.jsonl"))
    for each in (edits, holes):
        each.add_argument("--rank", type=int, default=RANK, help="of a new run's terms")
    rows = tasks.add_parser(
        "mask-rows", parents=[shared], help="the denoiser; an example is a text of up to 128 blocks"
    )
    rows.add_argument("--texts", type=Path, default=Path("training/middles"), help="folder of pieces to learn from")
    rows.add_argument("--held-out", type=Path, default=Path("training/held-out-middles"), help="to evaluate on")
    rows.add_argument("--first-layer", type=int, default=16, help="at which the mask rows of a new run enter")
    rows.add_argument("--start", type=Path, default=None, metavar="FILE", help="exported weights of a new run")
    return made


if __name__ == "__main__":
    main()
