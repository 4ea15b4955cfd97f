"""Trains the soft prompt on examples of next edits, from the run's checkpoint if there is one.

    python -m train.next_edits --run training/next-edits/run --histories training/histories --minutes 60

Prints a line a minute, and evaluates on the calibration split. SIGTERM saves the checkpoint and ends the run.
`--export FILE` writes the soft prompt as it is served.
"""

import argparse
import signal
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.soft_prompt import SoftPrompt, write_soft_prompt
from infill_engine.models.trunk.sources import ShardsSource
from train.denoiser.frozen import load_frozen
from train.denoiser.run import rate_at
from train.denoiser.setup import folders_of
from train.next_edits.examples import Examples
from train.next_edits.layout import Laid
from train.next_edits.learning import Learner, Scores, summary
from train.next_edits.network import KEYS, VALUES, new_soft_prompt
from train.trunk.run_folder import restore, save

ROWS = 64  # of the soft prompt
RATE = 5e-3
FASTER = 8.0  # times the learning rate for keys, which are much larger than values


def main() -> None:
    options = _parser().parse_args()
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stopping.append(number))
    torch.set_num_threads(1)
    options.run.mkdir(parents=True, exist_ok=True)
    folder, trained = folders_of(None)
    learner = Learner(load_frozen(folder, trained), TrunkVocabulary(folder / "tokenizer.json"))
    training = Training.open(learner, options)
    if options.export is not None:
        made = SoftPrompt(*(training.prompt[name].detach().half().numpy() for name in (KEYS, VALUES)))
        write_soft_prompt(options.export, made, ShardsSource(folder, trained).made_from())
    else:
        with ThreadPoolExecutor(options.workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            training.run(pool, options, stopping)


@dataclass
class Training:
    """A soft prompt, its optimiser, and how many examples it has seen."""

    learner: Learner
    prompt: dict[str, Tensor]
    optimiser: torch.optim.AdamW
    seen: int

    @classmethod
    def open(cls, learner: Learner, options: argparse.Namespace) -> "Training":
        """Resume the run's checkpoint, or begin with the keys and values of a patch."""
        laid = Examples(options.histories / "train.jsonl", learner.vocabulary, 3).laid()
        tokens = next(each.ids[:ROWS] for each in laid if len(each.ids) >= ROWS)
        made = new_soft_prompt(learner.trunk, tokens)
        prompt = {name: tensor.requires_grad_() for name, tensor in made.items()}
        groups = [{"params": [prompt[KEYS]], "factor": FASTER}, {"params": [prompt[VALUES]], "factor": 1.0}]
        optimiser = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), weight_decay=0.0)
        found = restore(options.run, prompt, optimiser, "seen")
        return cls(learner, prompt, optimiser, 0 if found is None else int(found[0]))

    def run(self, pool: ThreadPoolExecutor, options: argparse.Namespace, stopping: Sequence[int]) -> None:
        """Train until the time is over or `stopping` has an element."""
        texts = Examples(options.histories / "train.jsonl", self.learner.vocabulary, options.seed + self.seen).laid()
        calibration = Examples(options.histories / "calibration.jsonl", self.learner.vocabulary, 5).laid()
        judged = list(islice(calibration, options.evaluated))
        began = reported = evaluated = time.monotonic()
        scores: list[Scores] = []
        while not stopping and time.monotonic() - began < 60 * options.minutes:
            scores += self._step(pool, list(islice(texts, options.batch)), self._rate(began, options))
            now = time.monotonic()
            if now - reported > 60:
                print(f"{self.seen} examples · {len(scores) / (now - reported):.2f}/s · {summary(scores)}", flush=True)
                scores, reported = [], now
            if now - evaluated > 60 * options.evaluate:
                self._save(options.run)
                self._evaluate(pool, judged)
                evaluated = time.monotonic()
        self._save(options.run)
        if not stopping:
            self._evaluate(pool, judged)

    def _step(self, pool: ThreadPoolExecutor, batch: Sequence[Laid], rate: float) -> list[Scores]:
        for tensor in self.prompt.values():
            tensor.grad = torch.zeros_like(tensor)
        scores = []
        for gradients, scored in pool.map(lambda laid: self.learner.learn(self.prompt, laid), batch):
            for name, gradient in gradients.items():
                own = self.prompt[name].grad
                assert own is not None
                own += gradient / len(batch)
            scores.append(scored)
        torch.nn.utils.clip_grad_norm_(list(self.prompt.values()), 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimiser.step()
        self.seen += len(batch)
        return scores

    def _rate(self, began: float, options: argparse.Namespace) -> float:
        share = max((time.monotonic() - began) / (60 * options.minutes), self.seen / options.examples)
        return rate_at(share, options.rate)

    def _evaluate(self, pool: ThreadPoolExecutor, judged: Sequence[Laid]) -> None:
        scores = list(pool.map(lambda laid: self.learner.judge(self.prompt, laid), judged))
        print(f"calibration after {self.seen} examples: {summary(scores)}", flush=True)

    def _save(self, folder: Path) -> None:
        save(folder, self.prompt, self.optimiser, seen=self.seen)


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m train.next_edits", description="Train the soft prompt.")
    add = made.add_argument
    add("--run", type=Path, default=Path("training/next-edits/run"), help="folder of the checkpoint")
    add("--histories", type=Path, default=Path("training/histories"), help="folder that bench.edits.histories wrote")
    add("--minutes", type=float, default=60.0)
    add("--examples", type=int, default=100_000, help="the rate falls until then, or until the time is over")
    add("--rate", type=float, default=RATE)
    add("--batch", type=int, default=8)
    add("--workers", type=int, default=2)
    add("--evaluate", type=float, default=10.0, metavar="MINUTES")
    add("--evaluated", type=int, default=100, help="regions of the calibration split")
    add("--seed", type=int, default=0)
    add("--export", type=Path, default=None, metavar="FILE")
    return made


if __name__ == "__main__":
    main()
