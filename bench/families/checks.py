"""Checks a family in miniature: written to disk, loaded as in production, run, and compared.

    files ──▶ load_canvas_model ──▶ one forward pass, against the reference ──▶ the denoising loop ──▶ the whole engine

A random network shows nothing about a model's abilities, but everything about whether its adapter is correct: shift,
mask, prompt, the columns that slots are read from.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from bench.families import fim, masked, stable_diffcoder
from infill_engine.budget.deadline import Deadline
from infill_engine.budget.work import Budget, Costs, PassState, finished
from infill_engine.engine.engine_loading import load_engine
from infill_engine.errors import InputError
from infill_engine.models.base import CanvasModel
from infill_engine.models.canvas.canvas import SlotState, lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.runtime.devices import choose_device
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import DenoisingTask, Row, denoise
from infill_engine.settings import ModelSettings
from infill_engine.types import Draft, Hole, HoleKind, InfillRequest

TOLERANCE = 1e-4  # of logits in float32, absolute and relative
EXACT = ModelSettings(dtype="fp32", prefix_tokens=128, suffix_tokens=128)
TEXT = ("x = [1:", ":2]\nfor i in range(10):\n")
ENOUGH_MS = 60_000.0
TOKENS = (70, 71, 72)  # plain tokens in every miniature's vocabulary

Reference = Callable[[list[int], tuple[str, str]], Tensor]  # from a row and the two texts to its logits [slots, V]


@dataclass(frozen=True, slots=True)
class Miniature:
    """A miniature family. `write` writes a random checkpoint to a folder and returns its reference computation."""

    name: str
    write: Callable[[Path], Reference]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one comparison."""

    family: str
    name: str
    ok: bool
    detail: str


def _write_masked(name: str, folder: Path) -> Reference:
    network = masked.stock_network(masked.PUBLISHED[name].stock)
    masked.publish(name, network, folder)
    return partial(masked.reference, name, network)


def _write_fim(name: str, folder: Path) -> Reference:
    network = fim.new_network(name).requires_grad_(False)
    fim.publish(name, network, folder)
    return partial(fim.reference, name, network)


def _write_stable_diffcoder(folder: Path) -> Reference:
    network = stable_diffcoder.new_network()
    stable_diffcoder.publish(network, folder)
    return partial(stable_diffcoder.reference, network)


MINIATURES: dict[str, Miniature] = {
    each.name: each
    for each in (
        *(Miniature(name, partial(_write_masked, name)) for name in masked.PUBLISHED),
        *(Miniature(name, partial(_write_fim, name)) for name in fim.PUBLISHED),
        Miniature("stable-diffcoder", _write_stable_diffcoder),
    )
}


def check_family(name: str, device: str = "cpu") -> Iterator[Check]:
    """Yield each check when it ends; if the family cannot be loaded, that is the last one.

    The family computes on `device`, its reference on the CPU. Raises InputError for an unknown family or an unavailable
    device.
    """
    if name not in MINIATURES:
        raise InputError(f"no family is called `{name}`; there are {', '.join(MINIATURES)}")
    choose_device(device)
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / name
        checks: tuple[tuple[str, Callable[[CanvasModel, Reference], str]], ...] = (
            ("reference", _beside_the_reference),
            ("rows", _rows_alone_and_together),
            ("given slots", _given_slots),
            ("same answer", lambda _family, _reference: _answered_twice(folder, device)),
        )
        try:
            reference = MINIATURES[name].write(folder)
            family = load_canvas_model(str(folder), device, EXACT)
            yield Check(name, "loads", True, f"{family.info.name}, from {_files(folder)}, to {family.device}")
        except Exception as error:  # any error is a finding
            yield Check(name, "loads", False, f"{type(error).__name__}: {error}")
            return
        for what, check in checks:
            try:
                yield Check(name, what, True, check(family, reference))
            except Exception as error:
                yield Check(name, what, False, str(error) or type(error).__name__)


def _beside_the_reference(family: CanvasModel, reference: Reference) -> str:
    first, second, third = TOKENS
    open_slot = family.info.mask_id
    rows = [[open_slot] * 3, [first, open_slot, second, open_slot, third, open_slot], [open_slot]]
    expected = torch.cat([reference(row, TEXT) for row in rows])
    found = _predictions(family, rows)
    return f"logits of {len(expected)} slots, {_same(found, expected)} from the reference"


def _rows_alone_and_together(family: CanvasModel, _reference: Reference) -> str:
    open_slot = family.info.mask_id
    rows = [[open_slot] * 3, [open_slot] * 8, list(TOKENS[:2]), [open_slot]]
    together = _predictions(family, rows)
    alone = torch.cat([_predictions(family, [row]) for row in rows])
    return f"{len(rows)} in one batch, {_same(together, alone)} from each alone"


def _given_slots(family: CanvasModel, _reference: Reference) -> str:
    canvas, hole = lay_out([6, 6], family.info.mask_id), Hole(HoleKind.LINE)
    given = {1: TOKENS[0], 8: TOKENS[1]}
    for position, token in given.items():
        canvas.ids[position], canvas.state[position] = token, SlotState.FIXED
    context, rows, rules = finished(family.encode(*TEXT)), [Row(6), Row(6)], constraints_for(family, hole, canvas, "")
    canvases: list[list[int]] = []

    def keep(_state: PassState) -> None:
        canvases.append(canvas.ids[canvas.state == SlotState.FIXED].tolist())

    task = DenoisingTask(context, canvas, rows, rules)
    Budget.unlimited().run(denoise(family, task, Costs()), keep)
    changed = [number for number, fixed in enumerate(canvases, 1) if fixed != list(given.values())]
    if changed:
        raise ValueError(f"step {changed[0]} changed a slot that was given")
    if not canvases:
        raise ValueError("not one step was made")
    return f"unchanged through {len(canvases)} steps of the denoising loop"


def _answered_twice(folder: Path, device: str) -> str:
    request = InfillRequest(*TEXT, drafts=(Draft("i + 1", 5),))
    engines = (load_engine(str(folder), device=device, settings=EXACT) for _ in range(2))
    first, second = (engine.infill(request, Deadline.after_ms(ENOUGH_MS)) for engine in engines)
    if first != second:
        raise ValueError("the same request had two answers")
    return f"{len(first)} candidates from the whole engine, twice"


def _predictions(family: CanvasModel, rows: list[list[int]]) -> Tensor:
    """Return logits of all slots."""
    canvas = lay_out(rows, family.info.mask_id)
    return family.denoise(finished(family.encode(*TEXT)), canvas, np.arange(canvas.slots)).float().cpu()


def _same(found: Tensor, expected: Tensor) -> str:
    """Return how far apart two tensors are. Raises ValueError if that is too far."""
    difference = float((found - expected).abs().max())
    if not torch.allclose(found, expected, atol=TOLERANCE, rtol=TOLERANCE):
        raise ValueError(f"logits differ by {difference:.1e}, more than {TOLERANCE:.0e}")
    return f"at most {difference:.0e}"


def _files(folder: Path) -> str:
    return ", ".join(sorted(path.name for path in folder.iterdir()))
