"""A training run: the adapter, its optimiser, how many examples it has seen, and the loop."""

import argparse
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.trunk.prompt import TrunkVocabulary
from train.denoiser.run import rate_at
from train.low_rank.adapter import in_type, new_adapter
from train.next_edits.examples import Deck, Drawn
from train.next_edits.learning import Learner, Scores, summary
from train.trunk.run_folder import CHECKPOINT, log, restore, save

SAVE_SECONDS, REPORT_SECONDS = 240, 180
CALIBRATION_SEED = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a run; see the command's."""

    run: Path
    histories: Path
    minutes: float
    examples: int
    rate: float
    batch: int
    evaluate: float
    evaluated: int
    seed: int

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Settings":
        """Return the settings among the command's options."""
        return cls(*(getattr(options, field.name) for field in fields(cls)))


@dataclass
class Training:
    """An adapter in float32, its optimiser, and how many examples it has seen."""

    learner: Learner
    adapter: dict[str, Tensor]
    optimiser: torch.optim.AdamW
    seen: int = 0

    @classmethod
    def open(cls, learner: Learner, folder: Path, rank: int) -> "Training":
        """Resume the run's checkpoint, or begin with terms that change nothing."""
        path = folder / CHECKPOINT
        adapter = new_adapter(learner.trunk, rank)
        optimiser = torch.optim.AdamW(adapter.values(), lr=0.0, betas=(0.9, 0.98), weight_decay=0.0)
        found = restore(folder, adapter, optimiser, "seen") if path.is_file() else None
        return cls(learner, adapter, optimiser, 0 if found is None else int(found[0]))

    def run(self, pool: ThreadPoolExecutor, settings: Settings, stopping: Sequence[int]) -> None:
        """Train until the time is over, all examples are seen, or `stopping` has an element."""
        vocabulary = self.learner.vocabulary
        deck = Deck(settings.histories / "train.jsonl", vocabulary, settings.seed + self.seen)
        judged = _calibration(settings, vocabulary)
        print(f"{len(deck)} examples to train on; {self.seen} seen", flush=True)
        drawn = deck.draw()
        began = reported = saved = evaluated = time.monotonic()
        scores: list[Scores] = []
        first, worked = self.seen, time.process_time()
        while not stopping and self.seen < settings.examples and time.monotonic() - began < 60 * settings.minutes:
            scores += self._step(pool, deck, list(islice(drawn, settings.batch)), settings)
            now = time.monotonic()
            if now - reported > REPORT_SECONDS:
                count, cpu = self.seen - first, time.process_time() - worked
                rates = f"{count / (now - reported):.2f}/s, {count / cpu:.2f} a processor second"
                print(f"{self.seen} examples · {rates} · {summary(scores)}", flush=True)
                scores, first, reported, worked = [], self.seen, now, time.process_time()
            if now - saved > SAVE_SECONDS:
                self._save(settings.run)
                saved = now
            if now - evaluated > 60 * settings.evaluate:
                self._evaluate(pool, judged, settings.run)
                evaluated = time.monotonic()
        self._save(settings.run)
        if not stopping:
            self._evaluate(pool, judged, settings.run)

    def _step(
        self, pool: ThreadPoolExecutor, deck: Deck, batch: Sequence[Drawn], settings: Settings
    ) -> Iterator[Scores]:
        """Take a step of the optimiser. Yields the scores of the regions."""
        weights = in_type(self.adapter, self.learner.trunk.norm.dtype)
        batch = sorted(batch, key=lambda each: -len(each.pack.ids))  # the last ones keep no worker waiting for long
        regions = sum(len(each.pack.regions) for each in batch)
        for tensor in self.adapter.values():
            tensor.grad = torch.zeros_like(tensor)
        learned = pool.map(lambda each: self.learner.learn(weights, each.pack), batch)
        for drawn, (gradients, scores) in zip(batch, learned, strict=True):
            for tensor, gradient in zip(self.adapter.values(), gradients, strict=True):
                assert tensor.grad is not None
                tensor.grad.add_(gradient, alpha=1 / regions)
            deck.learned(drawn, sum(each.loss for each in scores))
            yield from scores
        norm = torch.nn.utils.clip_grad_norm_(list(self.adapter.values()), 1.0)
        if torch.isfinite(norm):
            for group in self.optimiser.param_groups:
                group["lr"] = rate_at(self.seen / settings.examples, settings.rate)
            self.optimiser.step()
        self.seen += len(batch)

    def _evaluate(self, pool: ThreadPoolExecutor, judged: Sequence[Drawn], folder: Path) -> None:
        weights = in_type(self.adapter, self.learner.trunk.norm.dtype)
        found = pool.map(lambda each: self.learner.judge(weights, each.pack), judged)
        log(folder, seen=self.seen, calibration=summary([score for scores in found for score in scores]))

    def _save(self, folder: Path) -> None:
        save(folder, self.adapter, self.optimiser, seen=self.seen)


def _calibration(settings: Settings, vocabulary: TrunkVocabulary) -> list[Drawn]:
    """Return examples of the calibration split, always the same ones."""
    deck = Deck(settings.histories / "calibration.jsonl", vocabulary, CALIBRATION_SEED)
    return list(islice(deck.draw(), settings.evaluated))
