"""Batches of windows with many holes each, drawn from the packed parts.

A window's context is encoded once for all its holes: a hole at tokens [a, b) sees prefix states up to a and suffix
states from b on. The holes of a window share one flat axis of slots, so canvases of any length fit side by side. A few
holes are also trained as prompts of the prefix stream.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset

from infill_engine.errors import InputError
from infill_engine.models.small.network.dual_encoder import (
    EOS,
    LENGTH_BUCKETS,
    MASK,
    MAX_SLOTS,
    PAD,
    PROMPT_ASIDE,
    PROMPT_LINE,
)
from infill_engine.types import HoleKind
from train.corpus.holes import KINDS

Ints = NDArray[np.int64]
MARGIN = 4  # fewest tokens between a hole and either end of its window
HISTORY = 2  # tokens before a prompt's line that its embedding looks back at
_BUCKETS = np.array(LENGTH_BUCKETS)


@dataclass(frozen=True, slots=True)
class BatchShape:
    """Fixed sizes of a batch: windows, and the tokens, canvas slots, holes and prompts per window."""

    windows: int = 16
    tokens: int = 384
    slots: int = 160
    holes: int = 24
    prompts: int = 8


@dataclass(frozen=True, slots=True)
class HoleSettings:
    """How holes are made difficult. Shares are probabilities.

    Visible slots are scored, too, correct and corrupted ones with the same weight. The probability that the model gives
    to a visible token is then the probability that the token is correct, which re-masking needs.
    """

    fully_masked: float = 0.3
    least_masked: float = 0.05
    corrupted: float = 0.1  # of the visible slots, so that the model learns to doubt a committed token
    exact_bucket: float = 0.7
    no_suffix: float = 0.15
    short_suffix: float = 0.15
    later_eos_weight: float = 0.1
    visible_weight: float = 0.3
    line_weight: float = 0.3  # of the tokens in a prompt's line that precede its hole
    vocab: int = 8192  # size of the vocabulary of the tokenizer that packed the parts


@dataclass(frozen=True, slots=True)
class Part:
    """Packed files: `tokens` [t], and `holes` [n, 3] of first token, token after the last, and kind, by start."""

    tokens: NDArray[np.uint16]
    holes: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Hole:
    """One hole of a window. Positions are in tokens."""

    number: int
    start: int
    end: int
    kind: int


class WindowBatches(IterableDataset[dict[str, Tensor]]):
    """An endless stream of batches. Equal seeds and worker numbers give equal streams."""

    def __init__(
        self, folder: Path, shape: BatchShape, holes: HoleSettings, seed: int, parts: int | None = None
    ) -> None:
        self.paths = sorted(folder.glob("part-*.npz"))[:parts]
        if not self.paths:
            raise InputError(f"no packed parts in {folder}: run `python -m train.corpus.pack` first")
        self.shape, self.holes, self.seed = shape, holes, seed

    def __iter__(self) -> Iterator[dict[str, Tensor]]:
        worker = torch.utils.data.get_worker_info()
        rng = np.random.default_rng((self.seed, worker.id if worker else 0))
        parts = [load_part(path) for path in self.paths]
        sizes = np.array([len(part.tokens) for part in parts], dtype=np.float64)
        while True:
            chosen = rng.choice(len(parts), self.shape.windows, p=sizes / sizes.sum())
            windows = [draw_window(parts[part], self.shape, self.holes, rng) for part in chosen]
            yield stacked(windows)


def stacked(windows: Sequence[dict[str, NDArray[np.generic]]]) -> dict[str, Tensor]:
    """Stack windows from `draw_window` into a batch: each array gets a leading dimension."""
    return {name: torch.from_numpy(np.stack([window[name] for window in windows])) for name in windows[0]}


def load_part(path: Path) -> Part:
    """Load one packed part into memory."""
    with np.load(path) as stored:
        return Part(stored["tokens"], stored["holes"])


def draw_window(
    part: Part, shape: BatchShape, settings: HoleSettings, rng: np.random.Generator
) -> dict[str, NDArray[np.generic]]:
    """Draw one window at a random position of a part, with as many of its holes as fit.

    `tokens` [L]. Per slot [M]: `ids`, `target`, `weight`; `start` and `end` of its hole, `seen` (where the visible part
    of its suffix ends), `index` and `left` (slots before and after it in its canvas), `kind`, `hole` (-1 for an unused
    slot). Per hole [K]: `length_start`, `length_end`, `length_kind`, `length_bucket` (-1 if unused), `length_seen`
    (whether its suffix is visible). Per prompt [Q]: `prompt_aside` [1 + PROMPT_ASIDE], of which `prompt_shown` are
    real; `prompt_line` [HISTORY + PROMPT_LINE], whose real tokens begin at `prompt_start`; `prompt_target`, the tokens
    that follow them; and `prompt_weight`, the weight of each, 0 if unused. Blocks get no prompts.
    """
    origin = int(rng.integers(0, len(part.tokens) - shape.tokens))
    drawn = _blank_window(part.tokens[origin : origin + shape.tokens].astype(np.int64), shape)
    first, last = np.searchsorted(part.holes[:, 0], (origin + MARGIN, origin + shape.tokens - MARGIN))
    inside = part.holes[first:last] - np.array([origin, origin, 0])
    inside = inside[(inside[:, 1] <= shape.tokens - MARGIN) & (inside[:, 1] - inside[:, 0] <= MAX_SLOTS)]
    used = prompts = 0
    for number, row in enumerate(rng.permutation(len(inside))[: shape.holes]):
        start, end, kind = (int(value) for value in inside[row])
        bucket = int(np.searchsorted(_BUCKETS, end - start))
        hole = Hole(number, start, end, kind)
        for name, value in zip(_HOLE_FIELDS, (start, end, kind, bucket), strict=True):
            drawn[name][number] = value
        drawn["length_seen"][number] = rng.random() >= settings.no_suffix
        if prompts < shape.prompts and KINDS[kind] is not HoleKind.BLOCK:
            _write_prompt(drawn, prompts, hole, settings, rng)
            prompts += 1
        if rng.random() >= settings.exact_bucket:
            bucket = min(bucket + int(rng.integers(1, 3)), len(_BUCKETS) - 1)
        size = int(_BUCKETS[bucket])
        if used + size <= shape.slots:
            _fill_slots(drawn, slice(used, used + size), hole, settings, rng)
            used += size
    return dict(drawn)


def _blank_window(tokens: Ints, shape: BatchShape) -> dict[str, NDArray[Any]]:
    """Return a window without holes. Unused slots and holes point to a harmless place inside the window."""
    slots = {name: np.zeros(shape.slots, dtype=np.int64) for name in _SLOT_FIELDS}
    slots["hole"][:] = -1
    slots["start"][:] = 1
    slots["end"][:] = slots["seen"][:] = shape.tokens - 1
    holes = {name: np.zeros(shape.holes, dtype=np.int64) for name in _HOLE_FIELDS}
    holes["length_start"][:] = 1
    holes["length_end"][:] = shape.tokens - 1
    holes["length_bucket"][:] = -1
    seen = np.ones(shape.holes, dtype=bool)
    prompts: dict[str, NDArray[Any]] = {
        "prompt_aside": np.full((shape.prompts, 1 + PROMPT_ASIDE), PAD, dtype=np.int64),
        "prompt_shown": np.ones(shape.prompts, dtype=np.int64),
        "prompt_line": np.full((shape.prompts, HISTORY + PROMPT_LINE), PAD, dtype=np.int64),
        "prompt_start": np.full(shape.prompts, HISTORY, dtype=np.int64),
        "prompt_target": np.full((shape.prompts, PROMPT_LINE), PAD, dtype=np.int64),
        "prompt_weight": np.zeros((shape.prompts, PROMPT_LINE), dtype=np.float32),
    }
    return {
        "tokens": tokens,
        **slots,
        "weight": np.zeros(shape.slots, dtype=np.float32),
        **holes,
        "length_seen": seen,
        **prompts,
    }


def _fill_slots(
    drawn: dict[str, NDArray[Any]], at: slice, hole: Hole, settings: HoleSettings, rng: np.random.Generator
) -> None:
    """Put the canvas of one hole on the slots `at`. The slots after its text must predict that it has ended."""
    length, size = hole.end - hole.start, at.stop - at.start
    tokens = drawn["tokens"]
    target = np.full(size, EOS, dtype=np.int64)
    target[:length] = tokens[hole.start : hole.end]
    ids = _corrupt(target, settings, rng)
    order = np.arange(size)
    drawn["target"][at], drawn["ids"][at] = target, ids
    drawn["index"][at], drawn["left"][at] = order, order[::-1]
    drawn["start"][at], drawn["end"][at] = hole.start, hole.end
    drawn["kind"][at], drawn["hole"][at] = hole.kind, hole.number
    drawn["seen"][at] = hole.end + _visible_suffix(len(tokens) - hole.end, settings, rng)
    masked = np.where(ids == MASK, 1.0, settings.visible_weight)
    drawn["weight"][at] = np.where(order > length, settings.later_eos_weight, 1.0) * masked


def _write_prompt(
    drawn: dict[str, NDArray[Any]], number: int, hole: Hole, settings: HoleSettings, rng: np.random.Generator
) -> None:
    """Write the hole as prompt `number`, with some tokens to its left as the cursor's line."""
    tokens = drawn["tokens"]
    line = int(rng.integers(1, min(PROMPT_LINE - (hole.end - hole.start), hole.start - HISTORY) + 1))
    right = min(PROMPT_ASIDE, _visible_suffix(len(tokens) - hole.end, settings, rng))
    start, length = hole.start - line, hole.end - hole.start
    drawn["prompt_aside"][number, : 1 + right] = [MASK, *tokens[hole.end : hole.end + right]]
    drawn["prompt_shown"][number] = 1 + right
    drawn["prompt_line"][number, : HISTORY + line + length] = tokens[start - HISTORY : hole.end]
    drawn["prompt_start"][number] = start
    drawn["prompt_target"][number, : line + length] = [*tokens[start + 1 : hole.end], EOS]
    drawn["prompt_weight"][number, : line + length] = [settings.line_weight] * (line - 1) + [1.0] * (length + 1)


_SLOT_FIELDS = ("ids", "target", "start", "end", "seen", "index", "left", "kind", "hole")
_HOLE_FIELDS = ("length_start", "length_end", "length_kind", "length_bucket")


def _corrupt(target: Ints, settings: HoleSettings, rng: np.random.Generator) -> Ints:
    """Return the canvas as the model sees it: masked slots, correct tokens and wrong ones."""
    rate = 1.0 if rng.random() < settings.fully_masked else rng.uniform(settings.least_masked, 1.0)
    masked = rng.random(len(target)) < rate
    masked[int(rng.integers(len(target)))] = True
    wrong = ~masked & (rng.random(len(target)) < settings.corrupted)
    ids = np.where(masked, MASK, target)
    ids[wrong] = rng.integers(EOS, settings.vocab, int(wrong.sum()))
    return ids


def _visible_suffix(available: int, settings: HoleSettings, rng: np.random.Generator) -> int:
    draw = rng.random()
    if draw < settings.no_suffix:
        return 0
    if draw < settings.no_suffix + settings.short_suffix:
        return int(rng.integers(1, min(available, 32) + 1))
    return available
