"""How many threads a pass uses: all of them, or fewer while other programs need the cores.

Threads wait for each other after every operation. If one of them waits for a core, all do, in hundreds of operations a
pass. So all threads are fastest on an idle machine, and slowest on a busy one. A pass starts with all of them and goes
on with half as many once it has lost half the time that they could save.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from infill_engine.budget.deadline import Clock, CostModel, now

SHORTEST_S, LONGEST_S = 1.0, 5.0  # before all threads are tried again; doubled after each failure
WORTH_LOSING = 0.5  # of the time that the larger number of threads could save in this pass
LEAST_LOSS = 0.25  # of a pass: less may be chance


@dataclass(slots=True)
class AdaptiveThreads:
    """The number of threads of the current pass, and what passes cost with each number (a `budget.work.Cost`).

    One pass at a time. `counts` are the numbers to choose from, most first.
    """

    counts: Sequence[int]
    clock: Clock = now
    _costs: list[CostModel] = field(default_factory=list)
    _level: int = 0  # in `counts`
    _began: float = 0.0
    _rows: int = 0
    _changed: bool = False  # the number, during the pass
    _wait_s: float = SHORTEST_S
    _retry_at: float = 0.0

    @classmethod
    def up_to(cls, most: int, *, fixed: bool = False) -> "AdaptiveThreads":
        """Return a choice among `most` threads, half as many and so on down to one; no choice if `fixed`."""
        counts = [most]
        while counts[-1] > 1 and not fixed:
            counts.append(counts[-1] // 2)
        return cls(counts)

    def __post_init__(self) -> None:
        self._costs = [CostModel() for _ in self.counts]

    @property
    def count(self) -> int:
        """The number of threads of the next pass, or of the rest of the current one."""
        return self.counts[self._level]

    def begin(self, rows: int) -> None:
        """Set torch's threads for a pass."""
        self._began, self._rows, self._changed = self.clock(), rows, False
        torch.set_num_threads(self.count)

    def check(self, share: float) -> None:
        """Use fewer threads for the rest of the pass, of which `share` is done, if it has lost too much time."""
        if self._level + 1 == len(self.counts) or not self._costs[self._level].measured:
            return
        best_ms, fewer_ms = (costs.best_ms(self._rows) for costs in self._costs[self._level : self._level + 2])
        lost_ms = (self.clock() - self._began) * 1000 - share * best_ms
        if lost_ms > max(WORTH_LOSING * (fewer_ms - best_ms), LEAST_LOSS * best_ms):
            self._use_fewer()
            self._began = self.clock() - share * fewer_ms / 1000
            self._changed = True
            torch.set_num_threads(self.count)

    def use(self, count: int) -> None:
        """Use that number, which must be one of `counts`, until `use_fastest`."""
        self._level = self.counts.index(count)

    def use_fastest(self, rows: int) -> None:
        """Use the number that has been fastest so far for passes over `rows` rows."""
        self._level = min(range(len(self.counts)), key=lambda level: self._costs[level].best_ms(rows))

    @contextmanager
    def fewest(self) -> Iterator[None]:
        """Use as few threads as possible, so that threads that wait for each other use none of the processor's time."""
        level, self._level = self._level, len(self.counts) - 1
        try:
            yield
        finally:
            self._level = level

    def retry(self) -> None:
        """Start with all threads again, if they failed long enough ago. Call it where nobody waits for an answer."""
        if self.clock() >= self._retry_at:
            self._level = 0

    @property
    def measured(self) -> bool:
        """Whether any pass has been observed with the current number of threads."""
        return self._costs[self._level].measured

    def predict_ms(self, rows: int) -> float:
        """Return the expected milliseconds of the next pass."""
        return self._costs[self._level].predict_ms(rows)

    def best_ms(self, rows: int) -> float:
        """Return the milliseconds of a pass with the fastest number of threads on an idle machine."""
        return min(costs.best_ms(rows) for costs in self._costs if costs.measured)

    def observe(self, rows: int, took_ms: float) -> None:
        """Record how long a pass took. One that changed the number of threads says nothing of either number."""
        if self._changed:
            return
        self._costs[self._level].observe(rows, took_ms)
        fewer = self._costs[self._level + 1 :][:1]
        if fewer and fewer[0].measured and fewer[0].predict_ms(rows) < self.predict_ms(rows):
            self._use_fewer()
        elif self._level == 0:
            self._wait_s = SHORTEST_S

    def relent(self) -> None:
        """Lower the prediction a little; see `CostModel`."""
        self._costs[self._level].relent()

    def _use_fewer(self) -> None:
        self._level += 1
        self._retry_at = self.clock() + self._wait_s
        self._wait_s = min(2 * self._wait_s, LONGEST_S)
