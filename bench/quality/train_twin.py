"""Teaches the prefix stream of a trained default to fill in the middle: the autoregressive twin of the comparison.

    python -m bench.quality.train_twin --init infill_engine/weights/default --minutes 25 --out training/twin

Windows, holes and optimisers are the default's own. A window has one hole, and every token after the prompt's first is
a target: all of the last ones, where the middle is, and as many others as the default's streams score.
"""

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from bench.quality.twin import MOST_PREFIX, MOST_SUFFIX, joined, read
from infill_engine.errors import InfillError, InputError
from infill_engine.models.duostream.net import EOS, MAX_SLOTS, Duostream
from infill_engine.models.duostream.weights import load_network, save_network
from infill_engine.train.checkpoint import progress_of
from infill_engine.train.data import Part, load_part
from infill_engine.train.optimiser import optimisers_of, set_rate, take_step

LONGEST = 2 + MOST_PREFIX + MOST_SUFFIX + MAX_SLOTS + 1
WINDOWS = 16
SCORED = 192  # positions of a batch's windows besides the last ones
WARMUP_STEPS = 40
REPORT_EVERY = 25  # steps
FEW_RIGHT = 0.15  # share of holes with less than 32 tokens to their right


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the autoregressive twin.")
    parser.add_argument("--init", type=Path, default=Path("infill_engine/weights/default"))
    parser.add_argument("--data", type=Path, default=Path("training/parts"))
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--decay", type=float, default=0.4, help="share of the time in which the rate falls to 0")
    parser.add_argument("--out", type=Path, default=Path("training/twin"))
    options = parser.parse_args()
    try:
        train(options)
    except InfillError as error:
        sys.exit(str(error))


def train(options: argparse.Namespace) -> None:
    """Trains and writes the folder. Raises InputError where there is no data."""
    torch.manual_seed(0)
    network = load_network(options.init).requires_grad_().train()
    progress = progress_of(options.init)
    optimisers = optimisers_of(network)
    compute = torch.compile(loss)
    began = last = time.monotonic()
    ends = began + 60 * options.minutes
    losses = []
    for step, batch in enumerate(batches(options.data, np.random.default_rng(progress.steps)), 1):
        left = (ends - time.monotonic()) / (60 * options.minutes)
        if left <= 0:
            break
        set_rate(optimisers, min(1.0, step / WARMUP_STEPS, max(0.02, left / options.decay)))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = compute(network, batch)
        take_step(network, optimisers, found)
        losses.append(found.item())
        progress.steps += 1
        progress.tokens += batch.numel()
        if step % REPORT_EVERY == 0:
            rate, last = REPORT_EVERY * batch.numel() / (time.monotonic() - last), time.monotonic()
            mean = sum(losses[-REPORT_EVERY:]) / REPORT_EVERY
            print(f"step {step} · {progress.tokens / 1e6:.2f} M tokens · {rate:,.0f} tokens/s · {mean:.3f}", flush=True)
    progress.minutes["cpu"] = progress.minutes.get("cpu", 0.0) + (time.monotonic() - began) / 60
    save_network(network, options.out)
    shutil.copyfile(options.init / "tokenizer.json", options.out / "tokenizer.json")
    stored = {"steps": progress.steps, "tokens": progress.tokens, "minutes": progress.minutes}
    (options.out / "training.json").write_text(json.dumps(stored, indent=1) + "\n")


def loss(network: Duostream, ids: Tensor) -> Tensor:
    """Mean cross-entropy in nats of sequences [B, LONGEST], which end with their middle and <eos>."""
    states, _ = read(network, ids[:, :-1])
    late = torch.arange(states.shape[1] - MAX_SLOTS, states.shape[1])
    early = torch.randperm(states.shape[1] - MAX_SLOTS)[:SCORED]
    scored = torch.cat([early, late])
    logits = network.logits(states[:, scored]).flatten(0, 1).float()
    return cross_entropy(logits, ids[:, scored + 1].flatten())


def batches(folder: Path, rng: np.random.Generator) -> Iterator[Tensor]:
    """Batches of sequences [WINDOWS, LONGEST]. Raises InputError where there are no packed parts."""
    parts = [load_part(path) for path in sorted(folder.glob("part-*.npz"))]
    if not parts:
        raise InputError(f"no packed parts in {folder}: run `python -m infill_engine.train.pack` first")
    while True:
        chosen = rng.integers(0, len(parts), WINDOWS)
        yield torch.tensor([sequence(parts[part], rng) for part in chosen])


def sequence(part: Part, rng: np.random.Generator) -> list[int]:
    """A hole at random with what stands around it, LONGEST tokens; now and then with little to its right."""
    while True:
        start, end, _ = part.holes[rng.integers(len(part.holes))].tolist()
        right = MOST_SUFFIX + MAX_SLOTS - (end - start)
        if rng.random() < FEW_RIGHT:
            right = int(rng.integers(0, 32))
        left = LONGEST - 3 - right - (end - start)
        if end - start <= MAX_SLOTS and left <= start and end + right <= len(part.tokens):
            break
    pieces = part.tokens[end : end + right], part.tokens[start - left : start], part.tokens[start:end]
    suffix, prefix, middle = (piece.tolist() for piece in pieces)
    return [*joined(suffix, prefix), *middle, EOS]


if __name__ == "__main__":
    main()
