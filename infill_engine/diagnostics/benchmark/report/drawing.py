"""Charts as SVG. Colours come from the page's style, so that one drawing serves light and dark."""

from html import escape

from infill_engine.diagnostics.benchmark.report.charts import Bars, Chart, Scale, Series, scale, tick_label

WIDE, NARROW = 720, 340
HEIGHT = {WIDE: 340, NARROW: 300}
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 22, 44
BAR, GAP = 17, 3
LETTER = 7.2  # the width of a letter, approximately
DOT = 3.6
HUES = 6


def draw(chart: Chart | Bars, width: int) -> str:
    """Return a chart as an SVG element of that width in pixels."""
    body, height = _draw_bars(chart, width) if isinstance(chart, Bars) else _draw_points(chart, width)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(chart.title)}"><title>{escape(chart.title)}</title>{body}</svg>'
    )


def _draw_points(chart: Chart, width: int) -> tuple[str, int]:
    height = HEIGHT[width]
    points = [point for series in chart.series for point in series.points]
    x = scale(
        [*(point[0] for point in points), *(mark.x for mark in chart.marks)],
        LEFT,
        width - LEFT - RIGHT,
        zero=chart.x_from_zero,
        wanted=width // 110,
    )
    bounds = [bound for series in chart.series for bound in (*series.low, *series.high)]
    ys = [*(point[1] for point in points), *bounds, *((1.0,) if chart.percent else ())]
    y = scale(ys, height - BOTTOM, TOP + BOTTOM - height, zero=chart.y_from_zero)
    parts = [_axes(chart, x, y, width, height)]
    parts += [_series(series, x, y) for series in chart.series]
    for number, mark in enumerate(chart.marks):
        at = x.at(mark.x)
        before = at > width - RIGHT - len(mark.label) * LETTER
        parts.append(
            f'<line class="mark" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>'
            f'<text class="note" x="{at + (-5 if before else 5):.1f}" y="{TOP + 11 + 14 * number}" '
            f'text-anchor="{"end" if before else "start"}">{escape(mark.label)}</text>'
        )
    return "".join(parts), height


def _axes(chart: Chart, x: Scale, y: Scale, width: int, height: int) -> str:
    bottom = height - BOTTOM
    parts = []
    for tick in y.ticks:
        at = y.at(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        label = tick_label(tick, percent=chart.percent)
        parts.append(f'<text class="tick" x="{LEFT - 7}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    for tick in x.ticks:
        at = x.at(tick)
        parts.append(f'<line class="axis" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        parts.append(
            f'<text class="tick" x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{tick_label(tick)}</text>'
        )
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{width - RIGHT}" y1="{bottom}" y2="{bottom}"/>')
    middle = LEFT + (width - LEFT - RIGHT) / 2
    parts.append(
        f'<text class="label" x="{middle}" y="{height - 6}" text-anchor="middle">{escape(chart.x_label)}</text>'
    )
    parts.append(f'<text class="label" x="2" y="12">{escape(chart.y_label)}</text>')
    return "".join(parts)


def _series(series: Series, x: Scale, y: Scale) -> str:
    places = [(x.at(across), y.at(up)) for across, up in series.points]
    style = f"hue{series.hue % HUES}"
    parts = []
    for (across, _), low, high in zip(places, series.low, series.high, strict=False):
        ends = f'x1="{across:.1f}" x2="{across:.1f}" y1="{y.at(low):.1f}" y2="{y.at(high):.1f}"'
        parts.append(f'<line class="bar {style}" {ends}/>')
    if series.join and len(places) > 1:
        path = " ".join(f"{across:.1f},{up:.1f}" for across, up in places)
        parts.append(f'<polyline class="line {style}{" dashed" if series.dashed else ""}" points="{path}"/>')
    if series.dots or not series.join:
        parts += [f'<circle class="dot {style}" cx="{across:.1f}" cy="{up:.1f}" r="{DOT}"/>' for across, up in places]
    return "".join(parts)


def _draw_bars(chart: Bars, width: int) -> tuple[str, int]:
    """Horizontal bars: each group has its label above it, each bar its value behind it."""
    values = [value for _, group in chart.groups for value in group if value is not None]
    room = width - RIGHT - 90
    x = scale(values, 0, room)
    parts, top = [], 4
    for label, group in chart.groups:
        parts.append(f'<text class="label" x="0" y="{top + 12}">{escape(label)}</text>')
        top += 20
        for number, value in enumerate(group):
            length = 0.0 if value is None else max(1.0, x.at(value))
            said = "not measured" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:,.2g}"
            parts.append(
                f'<rect class="fill hue{number % HUES}" x="0" y="{top}" width="{length:.1f}" height="{BAR}" rx="2"/>'
            )
            parts.append(f'<text class="tick" x="{length + 6:.1f}" y="{top + BAR - 4}">{said}</text>')
            top += BAR + GAP
        top += 12
    return "".join(parts), top
