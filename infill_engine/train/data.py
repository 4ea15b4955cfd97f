"""Batches of windows with many holes each, drawn from the packed parts.

A window's context is encoded once for all its holes: a hole at tokens [a, b) sees prefix states up to a and suffix
states from b on. The holes of a window share one flat axis of slots, so canvases of any length lie side by side.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset

from infill_engine.errors import InputError
from infill_engine.models.duostream.net import EOS, LENGTH_BUCKETS, MASK, MAX_SLOTS

Ints = NDArray[np.int64]
VOCAB = 8192  # of the tokenizer the parts were packed with
_BUCKETS = np.array(LENGTH_BUCKETS)


@dataclass(frozen=True, slots=True)
class BatchShape:
    """Fixed sizes of a batch: windows, tokens a window, canvas slots a window, holes a window."""

    windows: int = 16
    tokens: int = 384
    slots: int = 160
    holes: int = 24


@dataclass(frozen=True, slots=True)
class HoleSettings:
    """How holes are made hard. Shares are probabilities.

    Slots left visible are scored too, right ones and wrong ones alike and with one weight, so that the probability the
    model gives to the token it sees is the probability that this token is right: that is what re-masking asks for.
    """

    fully_masked: float = 0.3
    least_masked: float = 0.05
    corrupted: float = 0.1  # of the slots left visible, so that the model learns to doubt a committed token
    exact_bucket: float = 0.7
    no_suffix: float = 0.15
    short_suffix: float = 0.15
    later_eos_weight: float = 0.1
    visible_weight: float = 0.3


class WindowBatches(IterableDataset[dict[str, Tensor]]):
    """An endless stream of batches. Equal seeds and worker numbers give equal streams."""

    def __init__(self, folder: Path, shape: BatchShape, holes: HoleSettings, seed: int, parts: int | None = None) -> None:
        self.paths = sorted(folder.glob("part-*.npz"))[:parts]
        if not self.paths:
            raise InputError(f"no packed parts in {folder}: run `python -m infill_engine.train.pack` first")
        self.shape, self.holes, self.seed = shape, holes, seed

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        worker = torch.utils.data.get_worker_info()
        rng = np.random.default_rng((self.seed, worker.id if worker else 0))
        parts = [load_part(path) for path in self.paths]
        sizes = np.array([len(tokens) for tokens, _ in parts], dtype=np.float64)
        while True:
            chosen = rng.choice(len(parts), self.shape.windows, p=sizes / sizes.sum())
            windows = [draw_window(*parts[part], self.shape, self.holes, rng) for part in chosen]
            yield {name: torch.from_numpy(np.stack([window[name] for window in windows])) for name in windows[0]}


def load_part(path: Path) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """The tokens and holes of one packed part."""
    with np.load(path) as part:
        return part["tokens"], part["holes"]


def draw_window(
    tokens: NDArray[np.uint16], holes: NDArray[np.int32], shape: BatchShape, settings: HoleSettings, rng: np.random.Generator
) -> dict[str, NDArray[np.generic]]:
    """One window: `tokens` [L]; per slot [M] `ids`, `target`, `weight`, `start`, `end`, `seen` (end of the visible suffix),
    `index`, `left`, `kind`, `hole` (-1: unused slot); per hole [K] `length_*`."""
    origin = int(rng.integers(0, len(tokens) - shape.tokens))
    window = tokens[origin : origin + shape.tokens].astype(np.int64)
    first, last = np.searchsorted(holes[:, 0], (origin + 4, origin + shape.tokens - 4))
    inside = holes[first:last]
    inside = inside[(inside[:, 1] <= origin + shape.tokens - 4) & (inside[:, 1] - inside[:, 0] <= MAX_SLOTS)]
    slots: dict[str, Ints] = {name: np.zeros(shape.slots, dtype=np.int64) for name in _SLOT_FIELDS}
    slots["hole"][:] = -1
    slots["end"][:] = slots["seen"][:] = shape.tokens - 1
    slots["start"][:] = 1
    weight = np.zeros(shape.slots, dtype=np.float32)
    lengths: dict[str, Ints] = {name: np.zeros(shape.holes, dtype=np.int64) for name in ("length_start", "length_end", "length_kind")}
    bucket_of = np.full(shape.holes, -1, dtype=np.int64)
    lengths["length_start"][:] = 1
    lengths["length_end"][:] = shape.tokens - 1
    used = 0
    for number, row in enumerate(rng.permutation(len(inside))[: shape.holes]):
        start, end, kind = (int(value) for value in inside[row] - np.array([origin, origin, 0]))
        bucket = int(np.searchsorted(_BUCKETS, end - start))
        lengths["length_start"][number], lengths["length_end"][number] = start, end
        lengths["length_kind"][number], bucket_of[number] = kind, bucket
        if rng.random() >= settings.exact_bucket:
            bucket = min(bucket + int(rng.integers(1, 3)), len(_BUCKETS) - 1)
        size = int(_BUCKETS[bucket])
        if used + size > shape.slots:
            continue
        at = slice(used, used + size)
        target = np.full(size, EOS, dtype=np.int64)
        target[: end - start] = window[start:end]
        slots["target"][at] = target
        slots["ids"][at] = _corrupt(target, settings, rng)
        scored = np.where(slots["ids"][at] == MASK, 1.0, settings.visible_weight)
        weight[at] = np.where(np.arange(size) > end - start, settings.later_eos_weight, 1.0) * scored
        slots["index"][at] = np.arange(size)
        slots["left"][at] = np.arange(size)[::-1]
        slots["start"][at], slots["end"][at], slots["kind"][at], slots["hole"][at] = start, end, kind, number
        slots["seen"][at] = end + _visible_suffix(shape.tokens - end, settings, rng)
        used += size
    return {"tokens": window, **slots, "weight": weight, **lengths, "length_bucket": bucket_of}


_SLOT_FIELDS = ("ids", "target", "start", "end", "seen", "index", "left", "kind", "hole")


def _corrupt(target: Ints, settings: HoleSettings, rng: np.random.Generator) -> Ints:
    """The canvas as the model sees it: masked slots, right tokens and wrong ones."""
    rate = 1.0 if rng.random() < settings.fully_masked else rng.uniform(settings.least_masked, 1.0)
    masked = rng.random(len(target)) < rate
    masked[int(rng.integers(len(target)))] = True
    wrong = ~masked & (rng.random(len(target)) < settings.corrupted)
    ids = np.where(masked, MASK, target)
    ids[wrong] = rng.integers(EOS, VOCAB, int(wrong.sum()))
    return ids


def _visible_suffix(available: int, settings: HoleSettings, rng: np.random.Generator) -> int:
    draw = rng.random()
    if draw < settings.no_suffix:
        return 0
    if draw < settings.no_suffix + settings.short_suffix:
        return int(rng.integers(1, min(available, 32) + 1))
    return available
