"""A training run: its weights, their optimiser, how many examples it has seen, and the loop.

A task says what is learned. The checkpoint is replaced as a whole every few minutes, so a run goes on from it after any
stop.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from infill_engine.errors import TrainingError
from train import checkpoint
from train.figures import Figures, Score, means, shown

SAVE_SECONDS, REPORT_SECONDS = 240, 180
KEPT = 0.99  # share of the mean that a step leaves, once there have been many
WARMUP, LEAST_RATE = 0.02, 0.02
MOST_SKIPPED = 8  # steps in a row without a finite gradient
FIRST_TASK = "next-edits"  # a checkpoint without the name of a task is of this one
Item = TypeVar("Item")


class Task(ABC, Generic[Item]):
    """What is learned, from which examples. An example has parts, each with a score of its own."""

    name: str
    device: torch.device
    dtype: torch.dtype  # of the weights in a pass

    @abstractmethod
    def begin(self) -> dict[str, Tensor]:
        """Return the weights of a new run, in float32."""

    @abstractmethod
    def draw(self, seed: int) -> Iterator[Item]:
        """Yield examples without end."""

    @abstractmethod
    def judged(self) -> Sequence[Item]:
        """Return examples that are never trained on, always the same ones."""

    @abstractmethod
    def size(self, item: Item) -> int:
        """Return the number of an example's rows."""

    @abstractmethod
    def learn(self, weights: Mapping[str, Tensor], item: Item) -> tuple[Sequence[Tensor], list[Score]]:
        """Return the gradients of an example, summed over its parts, and the parts' scores."""

    @abstractmethod
    def judge(self, weights: Mapping[str, Tensor], item: Item) -> list[Score]:
        """Return the scores of an example's parts."""

    @abstractmethod
    def export(self, weights: Mapping[str, Tensor], path: Path) -> None:
        """Write weights in float32 to a file, as they are served."""

    def learned(self, item: Item, scores: Sequence[Score]) -> None:
        """Take note of what an example brought."""

    def derived(self, figures: Figures) -> Figures:  # noqa: ARG002
        """Return further figures that follow from means."""
        return {}

    def pace(self, name: str) -> float:  # noqa: ARG002
        """Return how many times the learning rate some weights learn with."""
        return 1.0

    def kept(self) -> dict[str, Any]:
        """Return what belongs in a checkpoint beside the weights."""
        return {}

    def restore(self, kept: Mapping[str, Any]) -> None:
        """Take what `kept` returned, before anything else is asked of the task."""

    def working(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return weights as a pass uses them."""
        return {name: each.detach().to(self.dtype) for name, each in weights.items()}

    def figures(self, scores: Sequence[Score]) -> Figures:
        """Return the means of scores, and what follows from them."""
        found = means(scores)
        return {**found, **self.derived(found)}


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
class Run(Generic[Item]):
    """Weights in float32, their optimiser, their mean over the last steps, and how many examples were seen.

    The mean is what is judged and exported: one step moves the weights to and fro.
    """

    task: Task[Item]
    weights: dict[str, Tensor]
    optimiser: torch.optim.AdamW
    mean: dict[str, Tensor]
    steps: int = 0
    seen: int = 0
    skipped: int = 0

    @classmethod
    def open(cls, task: Task[Item], folder: Path) -> "Run[Item]":
        """Resume the run in a folder, or begin one. Raises TrainingError."""
        found = checkpoint.read(folder, task.device)
        if found is None:
            weights = task.begin()
            mean = {name: each.clone() for name, each in weights.items()}
            return cls(task, weights, _optimiser(task, weights), mean)
        if (name := found.get("task", FIRST_TASK)) != task.name:
            raise TrainingError(f"{folder} holds a run of {name}; give --run another folder")
        task.restore(found.get("kept", {}))
        weights = {name: each.float() for name, each in found["parameters"].items()}
        mean = {name: found.get("mean", {}).get(name, each.clone()) for name, each in weights.items()}
        run = cls(task, weights, _optimiser(task, weights), mean, found.get("steps", 0), found.get("seen", 0))
        if "optimiser" in found:
            run.optimiser.load_state_dict(found["optimiser"])
        return run

    def train(self, pool: ThreadPoolExecutor, settings: Settings, stopping: Sequence[int]) -> None:
        """Train until the time is over, all examples are seen, or `stopping` has an element. Raises TrainingError."""
        drawn, judged = self.task.draw(settings.seed + self.seen), self.task.judged()
        print(f"{self.seen} examples seen", flush=True)
        began = saved = evaluated = time.monotonic()
        report = Report(self.seen)
        scores: list[Score] = []
        while not stopping and self.seen < settings.examples and time.monotonic() - began < 60 * settings.minutes:
            scores += self._step(pool, list(islice(drawn, settings.batch)), settings)
            if report.is_due():
                told = shown(self.task.figures(scores))
                print(f"{self.seen} examples · {report.rates(self.seen)} · {told}", flush=True)
                scores, report = [], Report(self.seen)
            if time.monotonic() - saved > SAVE_SECONDS:
                self.save(settings.run)
                saved = time.monotonic()
            if time.monotonic() - evaluated > 60 * settings.evaluate:
                self.evaluate(pool, judged, settings.run)
                evaluated = time.monotonic()
        self.save(settings.run)
        if not stopping:
            self.evaluate(pool, judged, settings.run)

    def evaluate(self, pool: ThreadPoolExecutor, judged: Sequence[Item], folder: Path) -> None:
        """Judge the mean, print the figures and add them to the log."""
        weights = self.task.working(self.mean)
        found = pool.map(lambda item: self.task.judge(weights, item), judged)
        figures = self.task.figures([score for scores in found for score in scores])
        print(f"{self.seen} examples · held out: {shown(figures)}", flush=True)
        checkpoint.log(folder, {"seen": self.seen, **figures})

    def save(self, folder: Path) -> None:
        """Replace the checkpoint."""
        checkpoint.write(
            folder,
            task=self.task.name,
            kept=self.task.kept(),
            parameters=self.weights,
            optimiser=self.optimiser.state_dict(),
            mean=self.mean,
            steps=self.steps,
            seen=self.seen,
        )

    def _step(self, pool: ThreadPoolExecutor, batch: Sequence[Item], settings: Settings) -> list[Score]:
        """Take a step of the optimiser along the mean gradient of all parts. Returns their scores."""
        weights = self.task.working(self.weights)
        totals = [torch.zeros_like(each) for each in self.weights.values()]
        batch = sorted(batch, key=lambda item: -self.task.size(item))  # the last keep no worker waiting for long
        scores: list[Score] = []
        for item, (gradients, found) in zip(
            batch, pool.map(lambda one: self.task.learn(weights, one), batch), strict=True
        ):
            for total, gradient in zip(totals, gradients, strict=True):
                total += gradient
            self.task.learned(item, found)
            scores += found
        whole = sum(score.weight for score in scores)
        for each, total in zip(self.weights.values(), totals, strict=True):
            each.grad = total.div_(whole)
        if torch.isfinite(torch.nn.utils.clip_grad_norm_(list(self.weights.values()), 1.0)):
            self.skipped = 0
            rate = rate_at(self.seen / settings.examples, settings.rate)
            for group in self.optimiser.param_groups:
                group["lr"] = rate * group.get("pace", 1.0)
            self.optimiser.step()
            self._average()
        else:
            self.skipped += 1
            if self.skipped == MOST_SKIPPED:
                raise TrainingError(f"{MOST_SKIPPED} steps in a row had no finite gradient; use a lower --rate")
        self.seen += len(batch)
        return scores

    def _average(self) -> None:
        """Move the mean toward the weights; the first steps count for little."""
        self.steps += 1
        share = 1 - min(KEPT, self.steps / (self.steps + 10))
        for name, tensor in self.weights.items():
            self.mean[name].lerp_(tensor, share)


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


def rate_at(share: float, highest: float) -> float:
    """Return the learning rate after a share of all examples: it rises for WARMUP of them, then falls as a cosine."""
    if share < WARMUP:
        return highest * max(share / WARMUP, 0.01)
    fallen = min(1.0, (share - WARMUP) / (1 - WARMUP))
    return highest * (LEAST_RATE + (1 - LEAST_RATE) * 0.5 * (1 + math.cos(math.pi * fallen)))


def _optimiser(task: Task[Any], weights: Mapping[str, Tensor]) -> torch.optim.AdamW:
    paces: dict[float, list[Tensor]] = {}
    for name, each in weights.items():
        paces.setdefault(task.pace(name), []).append(each)
    groups = [{"params": each, "pace": pace} for pace, each in paces.items()]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), weight_decay=0.0)
