"""The report as one HTML page that refers to nothing outside itself."""

from html import escape
from pathlib import Path

from infill_engine.diagnostics.benchmark.figures import comparisons, qualities, typing_ms
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.statistics import Estimate, mean, percentile
from infill_engine.diagnostics.benchmark.verdict import Verdict

PAGE = "report.html"
STYLE = Path(__file__).with_name("report.css")
Rows = list[tuple[str, ...]]


def write_report(results: Results, verdict: Verdict | None) -> Path:
    """Write the page beside the results and return its path. Raises OSError."""
    path = results.path.parent / PAGE
    path.write_text(page(results, verdict), encoding="utf-8")
    return path


def page(results: Results, verdict: Verdict | None) -> str:
    """Return the page's text."""
    header, machine = results.header, results.header["machine"]
    title = f"infill-ls {header['version']} on {machine['processor']}"
    about = (
        f"{machine['cores']} cores, {machine['memory_gb']:.0f} GB, {machine['system']}. {header['suite']} suite, "
        f"{header['device']}, {header['precision']}, begun {header['began']}."
    )
    parts = [
        f'<h1>{escape(title)}</h1><p class="soft">{escape(about)}</p>',
        _verdict(verdict),
        _doubts(results),
        _typing(results),
        _quality(results),
        _against_baseline(results),
        _not_measured(results),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def not_measured(results: Results) -> list[str]:
    """Return what was not measured and why, a sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for line in results.of("missing"):
        reasons.setdefault(line["why"], []).append(line["what"])
    return [f"{', '.join(what)}: {why}" for why, what in reasons.items()]


def _verdict(verdict: Verdict | None) -> str:
    sentences = ("Too little was measured for a verdict.",) if verdict is None else verdict.sentences
    first, *others = map(escape, sentences)
    return f'<div class="verdict"><p class="first">{first}</p>{"".join(f"<p>{each}</p>" for each in others)}</div>'


def _doubts(results: Results) -> str:
    items = "".join(f"<li>{escape(line['sentence'])}</li>" for line in results.of("doubt"))
    return f'<div class="doubts"><strong>These results are doubtful</strong><ul>{items}</ul></div>' if items else ""


def _typing(results: Results) -> str:
    times = typing_ms(results)
    if not times:
        return ""
    (start,) = results.of("start")
    budget = start["budget_ms"]
    row = [str(len(times)), *(f"{percentile(times, share):.0f}" for share in (0.5, 0.9, 0.99))]
    row.append(f"{mean([time <= budget for time in times]):.1%}")
    text = (
        "From a request to its candidates, over the server's own pipes. Each request is sent with its keystroke, and "
        f"the next key is pressed when the answer is there. The server is ready after {start['ready_ms'] / 1000:.1f} s."
    )
    headings = ("answers", "p50 ms", "p90 ms", "p99 ms", f"within {budget:.0f} ms")
    return _section("Latency while typing", text, _table(headings, [tuple(row)]))


def _quality(results: Results) -> str:
    known = sorted(qualities(results), key=lambda each: (each.model, each.setting.budget_ms, each.setting.candidates))
    rows: Rows = [
        (
            f"{each.model}, {each.way}, {each.setting}",
            str(each.problems),
            _share(each.first),
            _share(each.any),
            f"{each.ms:.0f}",
            f"{each.inside:.0%}",
        )
        for each in known
    ]
    text = (
        "A text is right if it is the original one or if the completed program passes its tests. JSON has to parse, "
        "and an SQL query has to give the original's rows. A text that comes too late is none. In brackets are 95 % "
        "intervals."
    )
    headings = ("candidates in budget", "problems", "right first", "right among all", "median ms", "in budget")
    return _section("Quality by budget", text, _table(headings, rows)) if rows else ""


def _against_baseline(results: Results) -> str:
    rows: Rows = [
        (f"{each.model}, {each.setting}", _points(each.first), _points(each.any), f"{each.ms_ratio:.2f}")
        for each in comparisons(results)
    ]
    text = (
        "The same problems, prompts, weights, precision and device, in turn. Differences are the product's minus those "
        "of left to right, paired by problem."
    )
    headings = ("candidates in budget", "points first", "points among all", "times as long from left to right")
    return _section("Against left to right", text, _table(headings, rows)) if rows else ""


def _not_measured(results: Results) -> str:
    sentences = not_measured(results)
    if not results.header["network_cut"]:
        sentences.append("Completed programs ran with limits, but this system could not cut them off from the network.")
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences)
    return _section("Not measured", "", f'<ul class="soft">{items}</ul>') if sentences else ""


def _section(title: str, text: str, *contents: str) -> str:
    paragraph = f"<p>{escape(text)}</p>" if text else ""
    return f"<section><h2>{escape(title)}</h2>{paragraph}{''.join(contents)}</section>"


def _table(headings: tuple[str, ...], rows: Rows) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _share(estimate: Estimate) -> str:
    return f"{estimate.value:.0%} ({estimate.low:.0%}–{estimate.high:.0%})"


def _points(estimate: Estimate) -> str:
    value, low, high = (100 * each for each in (estimate.value, estimate.low, estimate.high))
    return f"{value:+.0f} ({low:+.0f} to {high:+.0f})"
