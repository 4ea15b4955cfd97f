"""What a chart shows, as plain values; and scales whose ticks are round numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """Points with a name. `low` and `high` are bounds of y, one for each point. `join` draws a line through them.

    Series with the same `hue` have the same colour; a `dashed` one is told apart by its line.
    """

    name: str
    points: tuple[Point, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    join: bool = True
    dots: bool = False
    hue: int = 0
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line at `x`, with a label."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of points. With `percent`, y is a share from 0 to 1. `caption` says what was measured, and how often."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    caption: str
    marks: tuple[Mark, ...] = ()
    percent: bool = False
    x_from_zero: bool = True
    y_from_zero: bool = True


@dataclass(frozen=True, slots=True)
class Bars:
    """A chart of bars in groups: one value of each of `names` in every group, None if it was not measured."""

    name: str
    title: str
    unit: str
    names: tuple[str, ...]
    groups: tuple[tuple[str, tuple[float | None, ...]], ...]
    caption: str


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to pixels. `ticks` are round numbers that cover all values."""

    ticks: tuple[float, ...]
    start: float
    length: float

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high = self.ticks[0], self.ticks[-1]
        return self.start + self.length * (value - low) / (high - low)


def scale(values: Sequence[float], start: float, length: float, *, zero: bool = True, wanted: int = 5) -> Scale:
    """Return a scale over `values` from pixel `start` on."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    low = min(low, 0.0) if zero else low
    if high <= low:
        high = low + 1.0
    step = _round_step((high - low) / wanted)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return Scale(tuple(round(number * step, 10) for number in range(first, max(last, first + 1) + 1)), start, length)


def tick_label(value: float, *, percent: bool = False) -> str:
    """Return a tick as a reader expects it."""
    return f"{100 * value:g} %" if percent else f"{value:,g}"


def _round_step(rough: float) -> float:
    size = 10.0 ** floor(log10(rough))
    return next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= rough * 0.999)
