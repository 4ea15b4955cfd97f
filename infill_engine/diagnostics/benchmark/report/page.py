"""The report as one HTML page that refers to nothing outside itself."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from infill_engine.diagnostics.benchmark.report.charts import Bars, Chart
from infill_engine.diagnostics.benchmark.report.contents import sections
from infill_engine.diagnostics.benchmark.report.drawing import DOT, HUES, NARROW, WIDE, draw
from infill_engine.diagnostics.benchmark.report.png import can_draw, save
from infill_engine.diagnostics.benchmark.report.section import Section, Table
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.verdict import Verdict

PAGE = "report.html"
STYLE = Path(__file__).with_name("page.css")
NO_PNGS = "PNGs of the charts: matplotlib is not installed. Install it with `pip install 'infill-ls[train]'`."


def write_report(results: Results, verdict: Verdict | None) -> Path:
    """Write the page, and the charts as PNGs, beside the results. Returns the page's path. Raises OSError."""
    parts = sections(results)
    folder = results.path.parent
    if can_draw():
        for section in parts:
            for chart in section.charts:
                save(chart, folder / f"{chart.name}.png")
    path = folder / PAGE
    path.write_text(page(results, parts, verdict), encoding="utf-8")
    return path


def page(results: Results, parts: list[Section], verdict: Verdict | None) -> str:
    """Return the page's text."""
    header = results.header
    machine = header["machine"]
    title = f"infill-ls {header['version']} on {machine['processor']}"
    body = "".join(
        [
            f"<h1>{escape(title)}</h1>",
            f'<p class="soft">{escape(_about(header))}</p>',
            _verdict(verdict),
            _list("These results are doubtful", "doubts", [line["sentence"] for line in results.of("doubt")]),
            *(_section(section) for section in parts),
            _not_measured(results),
            _run(header),
        ]
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _about(header: dict[str, Any]) -> str:
    machine = header["machine"]
    cores = f"{machine['cores']} core{'s' * (machine['cores'] > 1)}"
    where = f"{cores}, {machine['memory_gb']:.0f} GB, {machine['system']}"
    accelerator = f", {machine['accelerator']}" if machine["accelerator"] else ", no accelerator"
    return f"{where}{accelerator}. {header['suite']} suite, begun {header['began']}."


def _verdict(verdict: Verdict | None) -> str:
    if verdict is None:
        return '<div class="verdict"><p class="first">Too little was measured for a verdict.</p></div>'
    first, second = map(escape, verdict.sentences)
    return f'<div class="verdict"><p class="first">{first}</p><p>{second}</p></div>'


def _section(section: Section) -> str:
    text = f"<p>{_plain(section.text)}</p>" if section.text else ""
    charts = "".join(map(_figure, section.charts))
    tables = "".join(map(_table, section.tables))
    return f"<section><h2>{escape(section.title)}</h2>{text}{charts}{tables}</section>"


def _figure(chart: Chart | Bars) -> str:
    drawings = (
        draw(chart, WIDE).replace("<svg ", '<svg class="w" ', 1),
        draw(chart, NARROW).replace("<svg ", '<svg class="n" ', 1),
    )
    return (
        f'<figure id="{chart.name}"><p><strong>{escape(chart.title)}</strong></p>{_legend(chart)}{"".join(drawings)}'
        f"<figcaption>{escape(chart.caption)}</figcaption></figure>"
    )


def _legend(chart: Chart | Bars) -> str:
    if isinstance(chart, Bars):
        entries = [_legend_entry(name, number) for number, name in enumerate(chart.names)]
    else:
        entries = [
            _legend_entry(series.name, series.hue, dashed=series.dashed, join=series.join) for series in chart.series
        ]
    if len(entries) < 2:
        return ""
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _legend_entry(name: str, hue: int, *, dashed: bool = False, join: bool = True) -> str:
    style = f"hue{hue % HUES}"
    drawn = f'<line class="line {style}{" dashed" * dashed}" x1="0" x2="22" y1="4" y2="4"/>'
    if not join:
        drawn = f'<circle class="dot {style}" cx="11" cy="4" r="{DOT}"/>'
    return f'<li><svg width="22" height="8" aria-hidden="true">{drawn}</svg>{escape(name)}</li>'


def _table(table: Table) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in table.headings)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    style = ' class="words"' if table.words else ""
    return f'<div class="scroll"><table{style}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def not_measured(results: Results) -> list[str]:
    """Return what was not measured and why, a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for line in results.of("missing"):
        if line["what"] not in results.finished:
            reasons.setdefault(line["why"], []).append(line["what"])
    return [f"{', '.join(dict.fromkeys(what))}: {why}" for why, what in reasons.items()]


def _not_measured(results: Results) -> str:
    sentences = [*not_measured(results), *_never_measured(results)]
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<section><h2>Not measured</h2><ul class="soft">{items}</ul></section>' if sentences else ""


def _never_measured(results: Results) -> Iterator[str]:
    machine = results.header["machine"]
    if not machine["energy"]:
        yield "Energy: this system lets no program read the processors' counters."
    if not machine["accelerator"]:
        yield "A GPU: there is none."
    if not can_draw():
        yield NO_PNGS
    if not results.header["network_cut"]:
        yield "Completed programs ran with limits, but this system could not cut them off from the network."


def _run(header: dict[str, Any]) -> str:
    facts = {
        "version": f"{header['version']} {header['commit']}".strip(),
        "models": ", ".join(header["models"]),
        "device, precision": f"{header['device']}, {header['precision']}",
        "seed": header["seed"],
        "problems": header["problems"],
        "python": header["python"],
        "packages": ", ".join(f"{name} {version}" for name, version in header["packages"].items()),
        "kernel": header["machine"]["kernel"],
    }
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>" for name, value in facts.items())
    return f"<section><h2>This run</h2><dl>{entries}</dl></section>"


def _list(title: str, style: str, sentences: list[str]) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return f'<div class="{style}"><strong>{title}</strong><ul>{items}</ul></div>' if sentences else ""


def _plain(text: str) -> str:
    """Return the text, with names in backticks set as code."""
    pieces = escape(text).split("`")
    return "".join(piece if number % 2 == 0 else f"<code>{piece}</code>" for number, piece in enumerate(pieces))
