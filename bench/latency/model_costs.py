"""Measures the model alone in one process: encoding a window cold and after one keystroke, and one denoising step."""

import itertools
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from bench.replay.keystrokes import Replay
from infill_engine.budget.work import finished
from infill_engine.diagnostics.benchmark.statistics import percentile
from infill_engine.models.base import CanvasModel
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.sampling.canvas.denoise import Row
from infill_engine.sampling.canvas.plan import canvas_of
from lsp_server.documents.snapshots import Documents, TextChange
from lsp_server.suggestions.request_content import build_context

ROWS, SLOTS = (1, 4), (8, 16, 24)
PASS_ROWS = (1, 2, 4, 8, 16, 24, 32, 48, 64)
REPEATS = 15
PLACES = 24
URI = "file:///bench/typed.py"

Window = tuple[str, str]


def encode_costs(family: CanvasModel, replay: Replay) -> dict[str, float]:
    """Return medians in ms over places of a replay: encoding a window cold, then again after one more character.

    `typed_ms` covers only characters for which at least one token had to be encoded. The beginning of a word is not
    encoded until the word is complete, so `typed_any_ms`, over all characters, is lower. `ratio` is typed_ms / cold_ms.
    """
    cold, typed, typed_any, cold_tokens = [], [], [], []
    pairs = _neighbours(family, replay)
    for number, (before, after) in enumerate(pairs):
        # Make the first and the last line unique, so that no cache entry matches.
        mark = f"# {number * 7919:x}\n"
        started = perf_counter()
        context = finished(family.encode(mark + before[0], before[1] + mark))
        between = perf_counter()
        appended = finished(family.encode(mark + after[0], after[1] + mark))
        ended = perf_counter()
        cold.append(1000 * (between - started))
        cold_tokens.append(context.encoded)
        typed_any.append(1000 * (ended - between))
        if appended.encoded:
            typed.append(1000 * (ended - between))
    cold_ms, typed_ms = percentile(cold, 0.5), percentile(typed or typed_any, 0.5)
    return {
        "places": len(pairs),
        "cold_ms": round(cold_ms, 2),
        "cold_tokens": percentile(cold_tokens, 0.5),
        "typed_ms": round(typed_ms, 2),
        "typed_any_ms": round(percentile(typed_any, 0.5), 3),
        "ratio": round(typed_ms / cold_ms, 3) if cold_ms else 0.0,
    }


def pass_costs(model: TrunkModel, window: Window) -> dict[str, float]:
    """Return the median ms of one trunk pass by number of rows. `R16` means 16 tokens after an encoded prompt."""
    found: dict[str, float] = {}
    for rows in PASS_ROWS:
        took = []
        for _ in range(REPEATS):
            reading = finished(model.read(model.prompt(*window)))
            reading.after_prompt()
            started = perf_counter()
            reading.run_pass(list(range(rows)), [0] * rows, [[]] * rows)
            took.append(1000 * (perf_counter() - started))
        found[f"R{rows}"] = round(percentile(took, 0.5), 2)
    return found


def step_costs(family: CanvasModel, window: Window) -> dict[str, float]:
    """Return the median ms of one denoising step by canvas. `N4C16` means four rows of 16 slots, all open."""
    context = finished(family.encode(*window))
    found = {}
    for rows, slots in itertools.product(ROWS, SLOTS):
        canvas = canvas_of([Row(slots)] * rows, family.info.mask_id)
        wanted = np.arange(canvas.slots)
        times = []
        for _ in range(REPEATS):
            started = perf_counter()
            family.denoise(context, canvas, wanted).cpu()
            times.append(1000 * (perf_counter() - started))
        found[f"N{rows}C{slots}"] = round(percentile(times, 0.5), 2)
    return found


def windows_of(replay: Replay) -> list[Window]:
    """Return the windows around the cursor after each keystroke."""
    documents = Documents()
    documents.open(URI, "python", replay.text)
    found = []
    for key in replay.keystrokes:
        end = (key.row, key.column + key.removed)
        snapshot = documents.change(URI, TextChange(key.text, (key.row, key.column), end)).after
        request = build_context(snapshot, key.cursor)
        found.append((request.prefix, request.suffix))
    return found


def _neighbours(family: CanvasModel, replay: Replay) -> Sequence[tuple[Window, Window]]:
    """Return pairs of windows before and after one typed character, as the engine encodes them, across the replay."""
    windows = [(family.vocabulary.split_partial_word(prefix)[0], suffix) for prefix, suffix in windows_of(replay)]
    typed = [
        (windows[number - 1], windows[number])
        for number, key in enumerate(replay.keystrokes)
        if number and len(key.text) == 1 and not key.removed and _follows(replay, number)
    ]
    step = max(1, len(typed) // (3 * PLACES))
    return typed[::step]


def _follows(replay: Replay, number: int) -> bool:
    """Return whether a keystroke was typed where the previous one left the cursor."""
    key = replay.keystrokes[number]
    return replay.keystrokes[number - 1].cursor == (key.row, key.column)
