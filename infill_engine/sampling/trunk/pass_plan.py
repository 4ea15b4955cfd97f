"""Plans the passes that fit into the rest of a request's time, to choose the form of the next one.

What this pass gains is known from the tree. What later passes gain is not, so each form counts with what it usually
gains. The plan with the largest sum wins, and its first pass is run. So time is not left unused, a first pass leaves
room for others, and masks are computed only if a later pass can verify what they propose.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import ceil

from infill_engine.models.trunk.forms import PassForm

FORMS_WITHOUT_BRANCHES = (*(PassForm(rows, masks) for rows in (1, 2, 4, 8, 12, 16, 24, 32) for masks in (0, 14)),)
STEP_MS = 4  # resolution of times
HORIZON_MS = 300  # for which passes are planned; longer times are as good in proportion
# Tokens of the right text that a pass usually reads, by its rows, after a pass without and with masks.
USUAL_GAINS = {8: (0.9, 1.5), 16: (1.05, 1.8), 32: (1.1, 1.9)}


def choose_form(
    forms: Sequence[PassForm],
    costs_ms: Sequence[float],
    time_ms: float,
    gain: Callable[[PassForm], tuple[float, float]],
) -> PassForm | None:
    """Return the form of the next pass; None if none fits into `time_ms`.

    `gain` returns the tokens of the right text that a pass of that form is expected to read, and the probability that
    its masks are after the right text.
    """
    steps = tuple(max(1, ceil(cost_ms / STEP_MS)) for cost_ms in costs_ms)
    best, chosen = -1.0, None
    for form, cost_ms in zip(forms, costs_ms, strict=True):
        if cost_ms > time_ms:
            continue
        now, useful = gain(form)
        left_ms = time_ms - cost_ms
        plain = _later(tuple(forms), steps, left_ms, masked=False)
        later = plain + useful * (_later(tuple(forms), steps, left_ms, masked=True) - plain) if form.masks else plain
        if now + later > best + 1e-9:
            best, chosen = now + later, form
    return chosen


def _later(forms: tuple[PassForm, ...], steps: tuple[int, ...], time_ms: float, *, masked: bool) -> float:
    """Return what passes usually gain in some time, after a pass with masks if `masked`."""
    longer_ms = time_ms - HORIZON_MS
    if longer_ms <= 0:
        return _gains(forms, steps)[int(time_ms) // STEP_MS][masked]
    whole = _gains(forms, steps)[HORIZON_MS // STEP_MS]
    return whole[masked] + whole[False] * longer_ms / HORIZON_MS


@lru_cache(64)
def _gains(forms: tuple[PassForm, ...], steps: tuple[int, ...]) -> list[tuple[float, float]]:
    """Return what passes usually gain in each number of steps, after a pass without masks and after one with them."""
    passes = [
        (cost, bool(form.masks), [_usual_gain(form.rows, masked=masked) for masked in (False, True)])
        for form, cost in zip(forms, steps, strict=True)
    ]
    found: list[tuple[float, float]] = []
    for time in range(HORIZON_MS // STEP_MS + 1):
        plain = masked = 0.0
        for cost, masks, (gain, gain_masked) in passes:
            if cost <= time:
                later = found[time - cost][masks]
                plain, masked = max(plain, gain + later), max(masked, gain_masked + later)
        found.append((plain, masked))
    return found


def _usual_gain(rows: int, *, masked: bool) -> float:
    known = min((each for each in USUAL_GAINS if each >= rows), default=max(USUAL_GAINS))
    return USUAL_GAINS[known][masked] * min(1.0, (1 + rows) / (1 + known))
