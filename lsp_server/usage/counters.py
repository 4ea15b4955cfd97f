"""Daily counts of the server's work. They contain only numbers: no text, no names, no paths.

The counts, by name:

    requests, answers           of any method; answers are those with candidates
    silence.REASON              requests without candidates
    ms.BOUND                    engine requests that took at most BOUND milliseconds
    shown, accepted, …          see `lsp_server.suggestions.outcomes`
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from infill_engine.errors import InputError
from infill_engine.types import Reason

if TYPE_CHECKING:
    from lsp_server.usage.store import Days

SAVE_SECONDS = 30.0  # after the first unsaved count
REQUESTS = "requests"
ANSWERS = "answers"
SILENCE = "silence."
MILLISECONDS = "ms."
BOUNDS_MS = (5, 10, 15, 20, 30, 40, 50, 75, 100, 125, 150, 200, 250, 300, 400, 500, 750, 1000, 2000, 5000)
MORE = "more"
# The outcomes of requests that the engine had its full time for.
_TIMED = (None, Reason.BLANK, Reason.LOW_CONFIDENCE, Reason.ONE_KEY, Reason.DEADLINE)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class UsageCounters:
    """The unsaved counts of one server. `on_warning` gets a message for the user."""

    on_warning: Callable[[str], None]
    today: Callable[[], date] = date.today
    pending: "Days" = field(default_factory=dict)
    _timer: asyncio.TimerHandle | None = None
    _saving: "asyncio.Task[None] | None" = None

    def count(self, name: str, number: int = 1) -> None:
        """Add `number` to today's count of `name`."""
        self.pending.setdefault(self.today().isoformat(), Counter())[name] += number
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SAVE_SECONDS, self._save_soon)

    def answered(self, reason: Reason | None, elapsed_ms: float) -> None:
        """A request was answered; `reason` is None if there were candidates."""
        self.count(REQUESTS)
        self.count(ANSWERS if reason is None else SILENCE + reason.value)
        if reason in _TIMED:
            bound = next((bound for bound in BOUNDS_MS if elapsed_ms <= bound), MORE)
            self.count(f"{MILLISECONDS}{bound}")

    async def save(self) -> None:
        """Add the pending counts to the file. If this fails, they stay pending."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pending, self.pending = self.pending, {}
        if not pending:
            return
        from lsp_server.usage import store

        try:
            warning = await asyncio.to_thread(store.add, pending)
        except (OSError, InputError) as fault:
            log.warning("could not save the statistics: %s", type(fault).__name__)
            for day, counts in pending.items():
                self.pending.setdefault(day, Counter()).update(counts)
        else:
            if warning:
                self.on_warning(warning)

    def _save_soon(self) -> None:
        self._timer = None
        self._saving = asyncio.ensure_future(self.save())


def total(days: Mapping[str, Counter[str]]) -> Counter[str]:
    """Return the sum over all days."""
    together: Counter[str] = Counter()
    for counts in days.values():
        together.update(counts)
    return together


def histogram(counts: Counter[str]) -> list[tuple[int, int | None, int]]:
    """Return (from, to, count) per bar, in ascending milliseconds. `to` is None for the last, open-ended bar."""
    bounds: list[int | None] = [*BOUNDS_MS, None]
    lowest = [0, *BOUNDS_MS]
    numbers = [counts[f"{MILLISECONDS}{MORE if bound is None else bound}"] for bound in bounds]
    return list(zip(lowest, bounds, numbers, strict=True))


def percentile(counts: Counter[str], share: float) -> float | None:
    """Return the milliseconds within which `share` (0 to 1) of the requests were answered; None without requests.

    Exact to the width of a histogram bar. Times are assumed to be evenly spread within a bar.
    """
    bars = histogram(counts)
    wanted = share * sum(number for _, _, number in bars)
    if not wanted:
        return None
    for least, most, number in bars:
        if number and wanted <= number:
            return float(least) if most is None else least + (most - least) * wanted / number
        wanted -= number
    return float(BOUNDS_MS[-1])
