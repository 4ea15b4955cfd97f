"""A training run of an adapter: its optimiser, how many examples it has seen, and the loop.

A task says what is learned. The checkpoint is replaced as a whole every few minutes, so a run goes on from it after any
stop.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor

from train.denoiser.frozen import FrozenTrunk
from train.denoiser.run import rate_at
from train.low_rank.adapter import in_type, new_adapter
from train.trunk.run_folder import log, restore, save

SAVE_SECONDS, REPORT_SECONDS = 240, 180
KEPT = 0.99  # share of the mean that a step leaves, once there have been many
Item = TypeVar("Item")
Score = TypeVar("Score")


class Task(Protocol[Item, Score]):
    """What is learned, from which examples. `weights` are an adapter in the trunk's type."""

    trunk: FrozenTrunk

    def draw(self, seed: int) -> Iterator[Item]:
        """Yield examples without end."""

    def judged(self) -> Sequence[Item]:
        """Return examples that are never trained on, always the same ones."""

    def size(self, item: Item) -> int:
        """Return the number of an example's rows."""

    def learn(self, weights: Mapping[str, Tensor], item: Item) -> tuple[list[Tensor], list[Score]]:
        """Return the gradients of an example, summed over its parts, and the parts' scores."""

    def judge(self, weights: Mapping[str, Tensor], item: Item) -> list[Score]:
        """Return the scores of an example's parts."""

    def learned(self, item: Item, scores: Sequence[Score]) -> None:
        """Take note of what an example brought."""

    def summary(self, scores: Sequence[Score]) -> str:
        """Return what is printed of scores."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where a run is kept, when it ends, and its steps."""

    run: Path
    minutes: float
    examples: int  # after which it ends; the rate falls until then
    rate: float
    batch: int  # examples of a step
    evaluate: float  # minutes between evaluations
    seed: int = 0


@dataclass
class Training(Generic[Item, Score]):
    """An adapter in float32, its optimiser, its mean over the last steps, and how many examples it has seen.

    The mean is what is judged and exported: one step moves the adapter to and fro.
    """

    task: Task[Item, Score]
    adapter: dict[str, Tensor]
    optimiser: torch.optim.AdamW
    mean: dict[str, Tensor]
    steps: int = 0
    seen: int = 0

    @classmethod
    def open(cls, task: Task[Item, Score], folder: Path, rank: int) -> "Training[Item, Score]":
        """Resume the run's checkpoint, or begin with terms that change nothing. Raises TrainingError."""
        adapter = new_adapter(task.trunk, rank)
        optimiser = torch.optim.AdamW(adapter.values(), lr=0.0, betas=(0.9, 0.98), weight_decay=0.0)
        found = restore(folder, adapter, optimiser, "mean", "steps", "seen")
        mean, steps, seen = ({}, 0, 0) if found is None else found
        mean = {name: mean.get(name, each.clone()).to(each.device) for name, each in adapter.items()}
        return cls(task, adapter, optimiser, mean, steps, seen)

    def run(self, pool: ThreadPoolExecutor, settings: Settings, stopping: Sequence[int]) -> None:
        """Train until the time is over, all examples are seen, or `stopping` has an element."""
        drawn, judged = self.task.draw(settings.seed + self.seen), self.task.judged()
        print(f"{self.seen} examples seen", flush=True)
        began = saved = evaluated = time.monotonic()
        report = Report(self.seen)
        scores: list[Score] = []
        while not stopping and self.seen < settings.examples and time.monotonic() - began < 60 * settings.minutes:
            scores += self._step(pool, list(islice(drawn, settings.batch)), settings)
            if report.is_due():
                print(f"{self.seen} examples · {report.rates(self.seen)} · {self.task.summary(scores)}", flush=True)
                scores, report = [], Report(self.seen)
            if time.monotonic() - saved > SAVE_SECONDS:
                self._save(settings.run)
                saved = time.monotonic()
            if time.monotonic() - evaluated > 60 * settings.evaluate:
                self._evaluate(pool, judged, settings.run)
                evaluated = time.monotonic()
        self._save(settings.run)
        if not stopping:
            self._evaluate(pool, judged, settings.run)

    def _step(self, pool: ThreadPoolExecutor, batch: Sequence[Item], settings: Settings) -> list[Score]:
        """Take a step of the optimiser along the mean gradient of all parts. Returns their scores."""
        weights = in_type(self.adapter, self.task.trunk.norm.dtype)
        for tensor in self.adapter.values():
            tensor.grad = torch.zeros_like(tensor)
        batch = sorted(batch, key=lambda item: -self.task.size(item))  # the last keep no worker waiting for long
        scores: list[Score] = []
        for item, (gradients, found) in zip(
            batch, pool.map(lambda one: self.task.learn(weights, one), batch), strict=True
        ):
            for tensor, gradient in zip(self.adapter.values(), gradients, strict=True):
                assert tensor.grad is not None
                tensor.grad += gradient
            self.task.learned(item, found)
            scores += found
        for tensor in self.adapter.values():
            assert tensor.grad is not None
            tensor.grad /= len(scores)
        if torch.isfinite(torch.nn.utils.clip_grad_norm_(list(self.adapter.values()), 1.0)):
            for group in self.optimiser.param_groups:
                group["lr"] = rate_at(self.seen / settings.examples, settings.rate)
            self.optimiser.step()
            self._average()
        self.seen += len(batch)
        return scores

    def _average(self) -> None:
        """Move the mean toward the adapter; the first steps count for little."""
        self.steps += 1
        share = 1 - min(KEPT, self.steps / (self.steps + 10))
        for name, tensor in self.adapter.items():
            self.mean[name].lerp_(tensor, share)

    def _evaluate(self, pool: ThreadPoolExecutor, judged: Sequence[Item], folder: Path) -> None:
        weights = in_type(self.mean, self.task.trunk.norm.dtype)
        found = pool.map(lambda item: self.task.judge(weights, item), judged)
        log(folder, seen=self.seen, held_out=self.task.summary([score for scores in found for score in scores]))

    def _save(self, folder: Path) -> None:
        save(folder, self.adapter, self.optimiser, mean=self.mean, steps=self.steps, seen=self.seen)


class Report:
    """Measures the speed from the time on at which `seen` examples were seen."""

    def __init__(self, seen: int) -> None:
        self._seen, self._time, self._worked = seen, time.monotonic(), time.process_time()

    def is_due(self) -> bool:
        """Return whether it is time to print."""
        return time.monotonic() - self._time > REPORT_SECONDS

    def rates(self, seen: int) -> str:
        """Return the examples of a second, by the clock and by the processor."""
        count = seen - self._seen
        return (
            f"{count / (time.monotonic() - self._time):.2f}/s, "
            f"{count / (time.process_time() - self._worked):.2f} a processor second"
        )
