"""Fine-tunes a copy of the default model on one project's own files, on its user's machine, within minutes.

Only prompted middles are learned: they write and judge most of what is shown, and alone more of them fit into the
minutes. Nothing but the project is learned from: there is no corpus here to mix in. What keeps the copy from forgetting
is a rate that falls to zero, and a look now and then at files that are never learned from: the best look's weights are
kept.
"""

import copy
import random
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from infill_engine.errors import InputError
from infill_engine.models.devices import physical_cores, wanted_threads
from infill_engine.models.duostream.net import Duostream
from infill_engine.models.duostream.weights import load_network, save_network, save_project
from infill_engine.models.load import choose_device
from infill_engine.train.data import BatchShape, HoleSettings, Part, draw_window, stacked
from infill_engine.train.objective import prompt_loss_alone
from infill_engine.train.optimiser import optimisers_of, set_rate, take_step
from infill_engine.train.pack import joined, open_tokenizer, pack_text
from infill_engine.train.precision import Precision, precision_of

LEAST_TOKENS = 2_000  # learned from; below, there is nothing to learn that copying would not find
LEAST_HELD_OUT = 200  # tokens
LAST_SHARE = 0.02  # of the peak rate, in the last step

Batch = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class AdaptSettings:
    """How a copy is trained. `peak` is a share of the trainer's learning rates, `looks` are spread over the time."""

    windows: int = 4
    peak: float = 0.3
    warmup_steps: int = 8
    looks: int = 4
    judged_windows: int = 16


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a training stands. Prompts' losses in nats: `loss` of the last step, `held_out` of the latest look."""

    tokens: int
    loss: float
    held_out: float
    seconds_left: float


@dataclass(frozen=True, slots=True)
class Adapted:
    """The trained network, on the CPU, with the held-out loss of prompts before and after, in nats a token."""

    network: Duostream
    tokens: int
    steps: int
    loss_before: float
    loss_after: float


@dataclass(slots=True)
class _Best:
    loss: float
    weights: dict[str, Tensor]


def pack(texts: Iterable[tuple[str, str]], base: Path) -> Part:
    """Tokens and holes of (text, language) pairs, packed as the trainer packs its corpus, for the model in `base`."""
    tokenizer = open_tokenizer(str(base / "tokenizer.json"))
    packed = [
        pack_text(text, tokenizer, random.Random(number), language) for number, (text, language) in enumerate(texts)
    ]
    return Part(*joined(packed))


def save(adapted: Adapted, learned: Part, base: Path, folder: Path) -> None:
    """Writes a model folder: the trained weights as int8, what they learned to count in, the rest as in `base`.

    Raises OSError.
    """
    try:
        save_network(adapted.network, folder)
        save_project(learned.tokens, folder)
    except SafetensorError as error:  # what it makes of a full disk
        raise OSError(str(error)) from error
    for name in ("tokenizer.json", "calibration.json"):
        if (base / name).exists():
            shutil.copyfile(base / name, folder / name)


def check_size(learned: Part, held_out: Part) -> None:
    """Raises InputError for a project that is too small to learn from, or to be judged by."""
    if len(learned.tokens) < LEAST_TOKENS or len(held_out.tokens) < LEAST_HELD_OUT:
        raise InputError(
            f"there is too little to learn from: {len(learned.tokens):,} tokens, and {len(held_out.tokens):,} to judge "
            + f"by; at least {LEAST_TOKENS:,} and {LEAST_HELD_OUT} are needed (about 250 lines in two files or more)"
        )


def adapt(
    base: Path,
    learned: Part,
    held_out: Part,
    seconds: float,
    report: Callable[[Moment], None] = lambda _moment: None,
    *,
    settings: AdaptSettings | None = None,
    device: str = "auto",
    clock: Callable[[], float] = time.monotonic,
) -> Adapted:
    """Trains a copy of the model in the folder `base` for so many seconds, one step at least; `report` hears of each.

    Raises what `check_size` and loading the model do.
    """
    check_size(learned, held_out)
    settings = settings or AdaptSettings()
    # Whoever served a model here before may have settled for fewer.
    torch.set_num_threads(wanted_threads() or physical_cores())
    place = torch.device(choose_device(device))
    precision = precision_of(place)
    warnings.filterwarnings("ignore", message="Mismatch dtype between input and weight")  # of mixed precision
    torch.manual_seed(0)
    network = load_network(base).requires_grad_().train().to(place)
    optimisers = optimisers_of(network)
    vocab = network.config.vocab
    judged = list(
        islice(_batches(held_out, settings, vocab, place), max(1, settings.judged_windows // settings.windows))
    )
    began = clock()
    before = latest = _held_out_loss(network, judged, precision)
    best = _Best(before, copy.deepcopy(network.state_dict()))
    looks = tokens = steps = 0
    for batch in _batches(learned, settings, vocab, place):
        elapsed = clock() - began
        if steps and elapsed >= seconds:
            break
        if elapsed >= seconds * (looks + 1) / (settings.looks + 1):
            looks += 1
            latest = _look(network, judged, precision, best)
        share = max(LAST_SHARE, 1 - elapsed / seconds) * min(1.0, (steps + 1) / settings.warmup_steps)
        set_rate(optimisers, settings.peak * share)
        with precision():
            loss = prompt_loss_alone(network, batch)
        steps += 1
        if take_step(network, optimisers, loss):
            tokens += batch["tokens"].numel()
            report(Moment(tokens, loss.item(), latest, max(0.0, seconds - (clock() - began))))
    _look(network, judged, precision, best)
    network.load_state_dict(best.weights)
    return Adapted(network.eval().requires_grad_(False).cpu(), tokens, steps, before, best.loss)


def _look(network: Duostream, judged: list[Batch], precision: Precision, best: _Best) -> float:
    loss = _held_out_loss(network, judged, precision)
    if loss < best.loss:
        best.loss, best.weights = loss, copy.deepcopy(network.state_dict())
    return loss


def _batches(part: Part, settings: AdaptSettings, vocab: int, place: torch.device) -> Iterator[Batch]:
    """An endless stream of batches, the same for the same part. A small part has shorter windows."""
    shape = BatchShape(windows=settings.windows)
    shape = replace(shape, tokens=min(shape.tokens, len(part.tokens) - 1))
    rng = np.random.default_rng(0)
    while True:
        batch = stacked([draw_window(part, shape, HoleSettings(vocab=vocab), rng) for _ in range(shape.windows)])
        yield {name: tensor.to(place) for name, tensor in batch.items()}


@torch.inference_mode()
def _held_out_loss(network: Duostream, judged: list[Batch], precision: Precision) -> float:
    """The mean loss of prompts over batches, in nats a token."""
    with precision():
        found = [prompt_loss_alone(network, batch).item() for batch in judged]
    return sum(found) / len(found)
