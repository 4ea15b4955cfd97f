"""Trains the autoregressive twin of the comparison: the small model's prefix stream, taught to fill in the middle.

    python -m bench.quality.systems.train_twin --init infill_engine/weights/small --minutes 25 --out training/twin

Windows, holes and optimisers are the small model's own. Each window has one hole. The loss covers its middle and as
many other tokens as the small model's streams score. Sequence lengths vary, because otherwise the model would learn the
end of a text from its position.
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

from bench.quality.systems.twin import MOST_PREFIX, MOST_SUFFIX, joined, read
from infill_engine.errors import InfillError, InputError
from infill_engine.models.small.network.dual_encoder import EOS, MAX_SLOTS, PAD, DualEncoder
from infill_engine.models.small.network.weights import load_network, save_network
from train.small.checkpoint import progress_of
from train.small.data import Part, load_part
from train.small.optimiser import optimisers_of, set_rate, take_step
from train.small.precision import precision_of

LONGEST = 2 + MOST_PREFIX + MOST_SUFFIX + MAX_SLOTS + 1
WINDOWS = 16
SCORED = 192  # positions per batch scored in addition to the middles
SHORTEST_PREFIX = 64
WARMUP_STEPS = 40
REPORT_EVERY = 25  # steps
FEW_RIGHT = 0.15  # share of holes with fewer than 32 tokens to their right


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the autoregressive twin.")
    parser.add_argument("--init", type=Path, default=Path("infill_engine/weights/small"))
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
    """Train and write the folder. Raises InputError if there is no data."""
    torch.manual_seed(0)
    network = load_network(options.init).requires_grad_().train()
    progress = progress_of(options.init)
    optimisers = optimisers_of(network)
    compute, precision = torch.compile(loss), precision_of(torch.device("cpu"))
    began = last = time.monotonic()
    ends = began + 60 * options.minutes
    losses = []
    for step, batch in enumerate(batches(options.data, np.random.default_rng(progress.steps)), 1):
        left = (ends - time.monotonic()) / (60 * options.minutes)
        if left <= 0:
            break
        set_rate(optimisers, min(1.0, step / WARMUP_STEPS, max(0.02, left / options.decay)))
        with precision():
            found = compute(network, *batch)
        take_step(network, optimisers, found)
        losses.append(found.item())
        progress.steps += 1
        real = int((batch[0] != PAD).sum())
        progress.tokens += real
        if step % REPORT_EVERY == 0:
            rate, last = REPORT_EVERY * real / (time.monotonic() - last), time.monotonic()
            mean = sum(losses[-REPORT_EVERY:]) / REPORT_EVERY
            print(f"step {step} · {progress.tokens / 1e6:.2f} M tokens · {rate:,.0f} tokens/s · {mean:.3f}", flush=True)
    progress.minutes["cpu"] = progress.minutes.get("cpu", 0.0) + (time.monotonic() - began) / 60
    save_network(network, options.out)
    shutil.copyfile(options.init / "tokenizer.json", options.out / "tokenizer.json")
    stored = {"steps": progress.steps, "tokens": progress.tokens, "minutes": progress.minutes}
    (options.out / "training.json").write_text(json.dumps(stored, indent=1) + "\n")


def loss(network: DualEncoder, ids: Tensor, middle: Tensor) -> Tensor:
    """Return the mean cross-entropy, in nats, of sequences [B, LONGEST].

    Their middles start at `middle` [B]; padding follows.
    """
    states, _ = read(network, ids[:, :-1])
    others = torch.randperm(states.shape[1])[:SCORED].expand(len(ids), -1)
    middles = (middle[:, None] - 1 + torch.arange(MAX_SLOTS + 1)).clamp(max=states.shape[1] - 1)
    scored = torch.cat([others, middles], 1)
    logits = network.logits(states.gather(1, scored[..., None].expand(-1, -1, states.shape[-1]))).flatten(0, 1)
    return cross_entropy(logits.float(), ids.gather(1, scored + 1).flatten(), ignore_index=PAD)


def batches(folder: Path, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of WINDOWS sequences, as `loss` takes them. Raises InputError if there are no packed parts."""
    parts = [load_part(path) for path in sorted(folder.glob("part-*.npz"))]
    if not parts:
        raise InputError(f"no packed parts in {folder}: run `python -m train.corpus.pack` first")
    while True:
        drawn = [sequence(parts[part], rng) for part in rng.integers(0, len(parts), WINDOWS)]
        yield torch.tensor([ids for ids, _ in drawn]), torch.tensor([middle for _, middle in drawn])


def sequence(part: Part, rng: np.random.Generator) -> tuple[list[int], int]:
    """Return a random hole with its surroundings, padded to LONGEST tokens, and where its middle begins.

    With probability FEW_RIGHT there is little text to its right.
    """
    while True:
        start, end, _ = part.holes[rng.integers(len(part.holes))].tolist()
        right = int(rng.integers(0, 32)) if rng.random() < FEW_RIGHT else MOST_SUFFIX
        left = int(rng.integers(SHORTEST_PREFIX, MOST_PREFIX + 1))
        if end - start <= MAX_SLOTS and left <= start and end + right <= len(part.tokens):
            break
    pieces = part.tokens[end : end + right], part.tokens[start - left : start], part.tokens[start:end]
    suffix, prefix, middle = (piece.tolist() for piece in pieces)
    ids = [*joined(suffix, prefix), *middle, EOS]
    return [*ids, *[PAD] * (LONGEST - len(ids))], len(ids) - 1 - len(middle)


if __name__ == "__main__":
    main()
