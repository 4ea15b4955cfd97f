"""Trains the small model, from scratch or from the run's checkpoint.

    python -m train.small --run training/base --minutes 60
    python -m train.small --run training/base --minutes 9 --decay-minutes 3 --windows 128   # on a GPU
    python -m train.small --run training/base --init infill_engine/weights/small   # no checkpoint

The learning rate is constant along the main line of a chain of runs. With --decay-minutes, the main line is saved
first. The rate then falls to zero and the result goes to `decayed.pt`. Ship `decayed.pt`, but continue training from
the main line. Only if little time is left, continue from `decayed.pt` instead, at a --peak below 1.
"""

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from infill_engine.errors import InfillError, TrainingError
from infill_engine.models.runtime.allocator import keep_freed
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.dual_encoder import DualEncoder
from infill_engine.models.small.network.weights import load_network
from train.small.checkpoint import (
    LOG,
    Progress,
    append_log,
    load_state,
    model_from,
    progress_of,
    save,
    take_log,
)
from train.small.data import BatchShape, HoleSettings, WindowBatches
from train.small.objective import LossSettings, losses
from train.small.optimiser import optimisers_of, set_rate, take_step
from train.small.precision import precision_of, rounding_pays
from train.small.rounded import round_products

SIZES = {
    "base": DualEncoderConfig(),
    "tiny": DualEncoderConfig(dim=32, heads=2, hidden=64, encoder_layers=1, decoder_layers=1, ngram_slots=256),
}
WARMUP_STEPS = 40
REPORT_EVERY = 25  # steps
SAVE_EVERY = 55  # seconds, so that an interruption loses less than a minute
MOST_SKIPPED = 8  # most consecutive steps without a finite gradient; more would not recover


@dataclass(slots=True)
class Run:
    """All state that a training loop changes."""

    folder: Path
    model: DualEncoder
    optimisers: list[Optimizer]
    progress: Progress
    device: torch.device
    first_step: int = 0  # first step of the optimisers; new optimisers warm up
    stopping: bool = False
    skipped: int = 0  # consecutive steps skipped so far


def main() -> None:
    options = parse_options()
    keep_freed()
    try:
        start(options)
    except InfillError as error:
        sys.exit(str(error))


def start(options: argparse.Namespace) -> None:
    """Open the run and train it. Raises InputError for missing data or a damaged checkpoint."""
    run = open_run(options.run, torch.device(options.device), SIZES[options.size], options.init)
    signal.signal(signal.SIGTERM, lambda *_: _stop(run))
    signal.signal(signal.SIGINT, lambda *_: _stop(run))
    batches = DataLoader(
        WindowBatches(
            options.data,
            BatchShape(windows=options.windows),
            HoleSettings(),
            seed=run.progress.steps,
            parts=options.parts,
        ),
        batch_size=None,
        num_workers=options.loaders,
        worker_init_fn=_leave_stopping_to_the_parent,
        pin_memory=run.device.type == "cuda",
    )
    train(run, batches, options)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train the embedded default model.")
    parser.add_argument("--data", type=Path, default=Path("training/parts"))
    parser.add_argument("--run", type=Path, default=Path("training/base"), help="folder of the checkpoint and the log")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument(
        "--decay-minutes", type=float, default=0.0, help="the last so many minutes anneal the rate to 0"
    )
    parser.add_argument("--peak", type=float, default=1.0, help="of the learning rates; below 1 late in a chain")
    parser.add_argument(
        "--streams-first", type=float, default=8e6, help="tokens to train the streams on before canvases"
    )
    parser.add_argument("--steps", type=int, default=None, help="stop after so many steps, if that is sooner")
    parser.add_argument("--size", choices=SIZES, default="base", help="of a new run; a checkpoint keeps its own")
    parser.add_argument("--init", type=Path, default=None, help="a model folder that a new run starts from")
    parser.add_argument("--windows", type=int, default=16, help="windows in a batch")
    parser.add_argument("--parts", type=int, default=None, help="read only the first so many parts")
    parser.add_argument("--loaders", type=int, default=1, help="processes that prepare batches")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--eager", action="store_true", help="do not compile the loss")
    return parser.parse_args()


def open_run(folder: Path, device: torch.device, config: DualEncoderConfig, init: Path | None = None) -> Run:
    """Open the run in `folder` from its checkpoint. Without one, start from the model in `init` or from scratch."""
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    trunk = folder / "trunk.pt"
    if trunk.exists():
        state = load_state(trunk)
        run = Run(folder, *_with_optimisers(model_from(state).to(device)), Progress(**state["progress"]), device)
        for optimiser, saved in zip(run.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        return run
    if init:
        take_log(folder, init)
    model, progress = (
        (load_network(init).requires_grad_(), progress_of(init)) if init else (DualEncoder(config), Progress())
    )
    return Run(folder, *_with_optimisers(model.train().to(device)), progress, device, first_step=progress.steps)


def _with_optimisers(model: DualEncoder) -> tuple[DualEncoder, list[Optimizer]]:
    return model, optimisers_of(model)


def train(run: Run, batches: DataLoader[dict[str, Tensor]], options: argparse.Namespace) -> None:
    """Train until time is up or the process is told to stop, then save the main line or its decayed branch."""
    compute = compiled_losses(run, eager=options.eager)
    started = last_saved = last_reported = time.monotonic()
    ends = started + options.minutes * 60
    decays = ends - options.decay_minutes * 60
    decaying = False
    last_step = run.progress.steps + options.steps if options.steps else None
    sums: Counter[str] = Counter()
    for batch in batches:
        now = time.monotonic()
        if run.stopping or now >= ends or run.progress.steps == last_step:
            break
        if options.decay_minutes and now >= decays and not decaying:
            save(run.folder / "trunk.pt", run.model, run.optimisers, run.progress)
            decaying = True
        share = options.peak * (max(0.02, (ends - now) / (ends - decays)) if decaying else 1.0)
        set_rate(run.optimisers, share * min(1.0, (run.progress.steps - run.first_step + 1) / WARMUP_STEPS))
        found = step(run, compute, batch, canvases=run.progress.tokens >= options.streams_first)
        if run.skipped:
            continue
        sums.update({name: value.item() for name, value in found.items()} | {"steps": 1})
        if run.progress.steps % REPORT_EVERY == 0:
            last_reported = _report(run, sums, last_reported, ends, batch["tokens"].numel())
            sums.clear()
        if now - last_saved > SAVE_EVERY and not decaying:
            save(run.folder / "trunk.pt", run.model, run.optimisers, run.progress)
            last_saved = time.monotonic()
    save(run.folder / ("decayed.pt" if decaying else "trunk.pt"), run.model, run.optimisers, run.progress)


def step(
    run: Run,
    compute: Callable[[dict[str, Tensor], bool], dict[str, Tensor]],
    batch: dict[str, Tensor],
    *,
    canvases: bool,
) -> dict[str, Tensor]:
    """Take one optimiser step. Returns the losses, detached.

    A step without a finite gradient is skipped. Raises TrainingError after MOST_SKIPPED of them in a row.
    """
    before = time.monotonic()
    found = compute({name: tensor.to(run.device, non_blocking=True) for name, tensor in batch.items()}, canvases)
    if take_step(run.model, run.optimisers, found["total"]):
        run.skipped = 0
        run.progress.steps += 1
        run.progress.tokens += batch["tokens"].numel()
    else:
        run.skipped += 1
        if run.skipped == MOST_SKIPPED:
            raise TrainingError(
                f"{MOST_SKIPPED} steps in a row had no finite gradient; the checkpoint holds what was learned before "
                "them. Go on with --eager, in case it is the compiled loss that cannot be trusted here"
            )
    minutes = run.progress.minutes
    minutes[run.device.type] = minutes.get(run.device.type, 0.0) + (time.monotonic() - before) / 60
    return {name: value.detach() for name, value in found.items()}


def compiled_losses(run: Run, *, eager: bool) -> Callable[[dict[str, Tensor], bool], dict[str, Tensor]]:
    """Return a function that computes the losses of a batch, with canvases or without."""
    settings, precision = LossSettings(), precision_of(run.device)
    if not eager and rounding_pays(run.device):
        round_products(run.model)

    def compute(batch: dict[str, Tensor], canvases: bool) -> dict[str, Tensor]:
        with precision():
            return losses(run.model, batch, settings, canvases=canvases)

    return compute if eager else torch.compile(compute)


def _report(run: Run, sums: Counter[str], since: float, ends: float, tokens: int) -> float:
    now = time.monotonic()
    steps = sums.pop("steps")
    rate = steps * tokens / (now - since)
    means = {name: round(value / steps, 4) for name, value in sums.items()}
    append_log(run.folder / LOG, {"step": run.progress.steps, "tokens": run.progress.tokens, **means})
    left = max(0.0, ends - now) / 60
    print(
        f"step {run.progress.steps} · {run.progress.tokens / 1e6:.2f} M tokens · {rate:,.0f} tokens/s · "
        + f"{left:.1f} min left · "
        + " ".join(f"{name} {value:.3f}" for name, value in means.items()),
        flush=True,
    )
    return now


def _leave_stopping_to_the_parent(_worker: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _stop(run: Run) -> None:
    print("stopping after this step", file=sys.stderr)
    run.stopping = True


if __name__ == "__main__":
    main()
