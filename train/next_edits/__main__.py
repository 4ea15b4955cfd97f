"""Trains the low-rank adapter of next edits, from the run's checkpoint if there is one.

    python -m train.next_edits --run training/next-edits/run --histories training/histories --minutes 600

Prints a line every three minutes, and evaluates on the calibration split. The checkpoint is replaced every few minutes;
SIGTERM saves it and ends the run. `--export FILE` writes the adapter as it is served.
"""

import argparse
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import torch

from infill_engine.models.runtime.precision import fastest_dtype
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.sources import ShardsSource
from train.denoiser.frozen import load_frozen
from train.denoiser.setup import folders_of
from train.low_rank.adapter import write_adapter
from train.low_rank.int8_products import fastest_products, int8_works
from train.low_rank.network import products_of
from train.low_rank.products import PlainProduct
from train.low_rank.training import Settings, Training
from train.next_edits.learning import Learner
from train.next_edits.task import NextEdits

RANK = 16
RATE = 2e-4
ROWS = 1024  # about as many as an example has


def main() -> None:
    options = _parser().parse_args()
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopping.append(number))
    torch.set_num_threads(1)
    options.run.mkdir(parents=True, exist_ok=True)
    folder, trained = folders_of(None)
    rounded = options.device == "cpu" and int8_works()
    dtype = torch.bfloat16 if rounded else fastest_dtype(options.device, ROWS)
    trunk = load_frozen(folder, trained, options.device, dtype, smoothed=True)
    plain = options.exact or options.export is not None or options.device != "cpu"
    products = products_of(trunk, PlainProduct if plain else fastest_products())
    learner = Learner(trunk, products, TrunkVocabulary(folder / "tokenizer.json"))
    task = NextEdits(learner, options.histories, options.evaluated)
    training = Training.open(task, options.run, options.rank)
    if options.export is not None:
        write_adapter(options.export, training.mean, ShardsSource(folder, trained).made_from())
        return
    with ThreadPoolExecutor(options.workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        training.run(pool, Settings(*(getattr(options, each.name) for each in fields(Settings))), stopping)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m train.next_edits", description="Train the adapter of next edits.")
    add = made.add_argument
    add("--run", type=Path, default=Path("training/next-edits/run"), help="folder of the checkpoint")
    add("--histories", type=Path, default=Path("training/histories"), help="folder that bench.edits.histories wrote")
    add("--minutes", type=float, default=600.0)
    add("--examples", type=int, default=20_000, help="the rate falls until then")
    add("--rank", type=int, default=RANK, help="of a new run's terms")
    add("--rate", type=float, default=RATE)
    add("--batch", type=int, default=8, help="examples of a step, each with one or two regions")
    add("--workers", type=int, default=2, help="texts that are learned from at the same time")
    add("--device", default="cpu")
    add("--exact", action="store_true", help="multiply in bfloat16 also where int8 is faster")
    add("--evaluate", type=float, default=20.0, metavar="MINUTES")
    add("--evaluated", type=int, default=120, help="examples of the calibration split")
    add("--seed", type=int, default=0)
    add("--export", type=Path, default=None, metavar="FILE")
    return made


if __name__ == "__main__":
    main()
