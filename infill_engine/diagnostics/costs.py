"""The costs of a loaded model on this machine: steps by rows and slots, reading a context cold and after a keystroke.

Each cost is the median of a few runs, after one that is not counted. On a GPU, each run ends when its result is ready.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TypeVar

import numpy as np

from infill_engine.budget.work import finished
from infill_engine.models.base import CanvasModel, ConditionsItself, Context
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.runtime.devices import finish
from infill_engine.models.trunk.model import ReadPrompt, TrunkModel
from infill_engine.types import HoleKind

T = TypeVar("T")

ROWS = (1, 2, 4)
SLOTS = (8, 16, 32)
PASS_ROWS = (1, 4, 8, 16, 32, 64)
CONTEXTS = ((24, 6), (104, 24))  # lines left and right; about 16 tokens each, so 480 and 2,048 in total
LONGEST = (1664, 384)  # tokens left and right of the second; a family may read less
RUNS = 3
LINE = "value_{number} = compute(first, second, {number})\n"


@dataclass(frozen=True, slots=True)
class Cost:
    """A median in milliseconds: of one step over `rows` of `slots`, or of reading a context of `tokens` tokens."""

    what: str
    ms: float
    rows: int = 0
    slots: int = 0
    tokens: int = 0


def measure(model: TrunkModel | CanvasModel) -> Iterator[Cost]:
    """Yield each cost once measured: of the trunk's passes by rows, of other models' steps by rows and slots."""
    if isinstance(model, TrunkModel):
        yield from passes(model)
        return
    for above, below in CONTEXTS:
        yield from reading(model, above, below)
    sides = lines(0, CONTEXTS[0][0]) + "result = ", "\nprint(result)\n"
    for rows in ROWS:
        for slots in SLOTS:
            if slots <= model.info.max_slots:
                yield step(model, sides, rows, slots)


def passes(model: TrunkModel) -> Iterator[Cost]:
    """Yield the costs of reading a prompt cold, and of passes over PASS_ROWS tokens after it."""
    above, below = CONTEXTS[0]
    cold, tokens = [], 0
    for run in range(RUNS + 1):
        sides = lines(run * 1000, above), lines(run * 1000 + above, below)
        took, prompt = timed(model.device, partial(_read, model, *sides))
        cold.append(took)
        tokens = len(prompt.prompt.tokens)
    yield Cost("prompt read cold", statistics.median(cold[1:]), tokens=tokens)
    for rows in PASS_ROWS:
        ids, roots = list(range(rows)), [0] * rows
        parents: list[list[int]] = [[] for _ in ids]
        times = []
        for _ in range(RUNS + 1):
            prompt = _read(model, *sides)
            times.append(timed(model.device, partial(model.logprobs, prompt, ids, roots, parents))[0])
        yield Cost("pass", statistics.median(times[1:]), rows=rows)


def _read(model: TrunkModel, prefix: str, suffix: str) -> ReadPrompt:
    prompt = finished(model.read(model.prompt(prefix, suffix)))
    model.after(prompt)
    return prompt


def reading(family: CanvasModel, above: int, below: int, runs: int = RUNS) -> Iterator[Cost]:
    """The costs of reading a context with `above` and `below` lines: cold, and again after one typed character."""
    cold, typed, tokens = [], [], 0

    def encode(prefix: str, suffix: str) -> Context:
        return finished(family.encode(prefix, suffix))

    for run in range(runs + 1):
        first = run * 1000
        prefix, suffix = lines(first, above) + "result = ", "\n" + lines(first + above, below)
        took, context = timed(family.device, partial(encode, prefix, suffix))
        cold.append(took)
        typed.append(timed(family.device, partial(encode, prefix + "v", suffix))[0])
        tokens = context.tokens
    yield Cost("read cold", statistics.median(cold[1:]), tokens=tokens)
    yield Cost("read after a keystroke", statistics.median(typed[1:]), tokens=tokens)


def step(family: CanvasModel, sides: tuple[str, str], rows: int, slots: int, runs: int = RUNS) -> Cost:
    """Return the cost of one step over open rows between two texts; with self-conditioning, not of the first step."""
    took, tokens = [], 0
    for _ in range(runs + 1):
        denoise, tokens = prepared_step(family, sides, rows, slots)
        took.append(timed(family.device, denoise)[0])
    return Cost("step", statistics.median(took[1:]), rows=rows, slots=slots, tokens=tokens)


def prepared_step(
    family: CanvasModel, sides: tuple[str, str], rows: int, slots: int
) -> tuple[Callable[[], object], int]:
    """Return a step over open rows after its context has been read, and the number of the context's tokens."""
    canvas = lay_out([slots] * rows, family.info.mask_id)
    wanted = np.arange(canvas.slots)
    context = finished(family.encode(*sides))
    denoise = partial(family.denoise, context, HoleKind.LINE, canvas, wanted)
    if isinstance(family, ConditionsItself):
        family.condition(context, canvas, wanted, denoise())
    return denoise, context.tokens


def lines(first: int, number: int) -> str:
    """`number` numbered lines of code."""
    return "".join(LINE.format(number=line) for line in range(first, first + number))


def timed(device: str, work: Callable[[], T]) -> tuple[float, T]:
    """Return milliseconds until the result of `work` was on the device, and the result."""
    finish(device)
    began = perf_counter()
    result = work()
    finish(device)
    return (perf_counter() - began) * 1000, result
