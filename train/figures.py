"""What examples brought: means by name, of sums that are kept apart for each of their parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Figures = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Score:
    """A part of an example: `weight` is its share in a step, and `loss` what was learned from it.

    `sums` are, by name, a sum and the number that it is divided by, such as losses in nats and tokens.
    """

    loss: float
    weight: float
    sums: Mapping[str, tuple[float, float]]


def means(scores: Iterable[Score]) -> dict[str, float]:
    """Return the mean by name over all scores that have some of it."""
    totals: dict[str, tuple[float, float]] = {}
    for score in scores:
        for name, (total, count) in score.sums.items():
            before = totals.get(name, (0.0, 0.0))
            totals[name] = before[0] + total, before[1] + count
    return {name: total / count for name, (total, count) in totals.items() if count}


def shown(figures: Figures) -> str:
    """Return figures as text."""
    return " · ".join(f"{name} {value:.3f}" for name, value in figures.items())
