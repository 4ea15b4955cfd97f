"""One chart as SVG: shares against a number, with intervals. Colours come from the page's style."""

from collections.abc import Mapping, Sequence
from html import escape

Point = tuple[float, float, float, float]  # x, and a share from 0 to 1 with the bounds of its interval

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 20, 24, 44
HUES = 6


def draw(y_label: str, x_label: str, series: Mapping[str, Sequence[Point]]) -> str:
    """Return a figure with a legend. A series is drawn as a line through its points, in their order."""
    most = max((point[0] for points in series.values() for point in points), default=1.0)
    parts = [_axes(y_label, x_label, most)]
    for number, points in enumerate(series.values()):
        hue, places = f"hue{number % HUES}", [(_x(x, most), _y(share)) for x, share, _, _ in points]
        for (across, _), (_, _, low, high) in zip(places, points, strict=True):
            bounds = f'x1="{across:.1f}" x2="{across:.1f}" y1="{_y(low):.1f}" y2="{_y(high):.1f}"'
            parts.append(f'<line class="bar {hue}" {bounds}/>')
        path = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
        parts.append(f'<polyline class="line {hue}" points="{path}"/>')
        parts += [f'<circle class="dot {hue}" cx="{across:.1f}" cy="{up:.1f}" r="3.6"/>' for across, up in places]
    legend = "".join(
        f'<li><svg width="22" height="8" aria-hidden="true"><line class="line hue{number % HUES}" x1="0" x2="22" '
        f'y1="4" y2="4"/></svg>{escape(name)}</li>'
        for number, name in enumerate(series)
    )
    return (
        f'<figure><ul class="legend">{legend}</ul><svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(y_label)} against {escape(x_label)}">{"".join(parts)}</svg>'
        "<figcaption>Bars are 95 % intervals.</figcaption></figure>"
    )


def _axes(y_label: str, x_label: str, most: float) -> str:
    bottom = HEIGHT - BOTTOM
    parts = [f'<text class="label" x="2" y="12">{escape(y_label)}</text>']
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        at = _y(share)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for quarter in range(5):
        x = most * quarter / 4
        parts.append(f'<text class="tick" x="{_x(x, most):.1f}" y="{bottom + 18}" text-anchor="middle">{x:,.0f}</text>')
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    parts.append(f'<text class="label" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>')
    return "".join(parts)


def _x(value: float, most: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / most


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
