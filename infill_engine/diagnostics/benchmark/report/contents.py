"""The charts and tables of a run. Every number in them is computed by `figures` from raw lines."""

from collections.abc import Callable, Sequence

from infill_engine.diagnostics.benchmark.figures import (
    Quality,
    cpu_ms_a_character,
    duels,
    qualities,
    rates,
)
from infill_engine.diagnostics.benchmark.report.charts import Bars, Chart, Mark, Series
from infill_engine.diagnostics.benchmark.report.drift import drift_section
from infill_engine.diagnostics.benchmark.report.latency import typing_section
from infill_engine.diagnostics.benchmark.report.section import (
    Section,
    Table,
    counted,
    limit_of,
    points,
    share,
    way_name,
    who_wins,
)
from infill_engine.diagnostics.benchmark.results import Record, Results
from infill_engine.diagnostics.benchmark.statistics import mean
from infill_engine.diagnostics.benchmark.suites.fight import FIGHT
from infill_engine.diagnostics.benchmark.suites.plan import USUAL_MS


def sections(results: Results) -> list[Section]:
    """Return all parts for which something was measured."""
    made = (
        typing_section(results),
        _fight(results),
        _three_rates(results),
        _frontier(results),
        _passes(results),
        _kinds(results),
        drift_section(results),
        _resources(results),
    )
    return [section for section in made if section is not None]


def _fight(results: Results) -> Section | None:
    known = [each for each in qualities(results, FIGHT) if each.budget_ms == USUAL_MS]
    if len({each.way for each in known}) < 2:
        return None
    rows = [
        (
            f"{each.way}, {counted(each.candidates)}",
            share(each.first),
            share(each.any),
            f"{each.late:.0%}",
            f"{each.ms:.0f}",
            f"{each.p90_ms:.0f}",
            "–" if each.inside is None else f"{each.inside:.0%}",
        )
        for each in sorted(known, key=lambda each: (-each.candidates, each.way != "served", each.way))
    ]
    table = Table(
        (
            "way of decoding",
            "right first",
            "right among all",
            "first, however late",
            "median ms",
            "p90 ms",
            "in budget",
        ),
        tuple(rows),
    )
    differences = [
        (
            f"{duel.other}, {counted(duel.candidates)}, {duel.budget_ms:.0f} ms",
            points(duel.first),
            points(duel.any),
            f"{duel.ms.value:+.0f} ({duel.ms.low:+.0f} to {duel.ms.high:+.0f})",
            who_wins(duel.first, "product", duel.other),
        )
        for duel in duels(results)
    ]
    against = Table(("product minus …", "points first", "points among all", "ms", "first text"), tuple(differences))
    problems = max(each.problems for each in known)
    turns = 1 + max(line["turn"] for line in results.of("answer", suite=FIGHT))
    text = (
        f"The same {problems} problems, prompts and device, in turn up to {turns} times each. All but programs of "
        "others have the same weights and precision. Differences are paired by problem; in brackets 95 % intervals."
    )
    return Section("The fair fight", text, (), (table, against))


def _three_rates(results: Results) -> Section | None:
    known = rates(results)
    if not known:
        return None
    names = ("in-step: rows of a pass", "gross: rows of an answer", "useful: tokens of the first text")
    chart = Bars(
        "rates",
        "Three rates, which are often confused",
        "a second",
        names,
        tuple((way_name(each), (each.in_step, each.gross, each.useful)) for each in known),
        "In-step counts what the processor computes, per time of the passes; useful counts what a user reads, per time "
        "of the answers.",
    )
    rows = [
        (
            way_name(each),
            *(f"{value:.0f}" for value in (each.in_step, each.gross, each.useful)),
            f"{each.passes:.1f}",
            f"{each.accepted_a_pass:.2f}",
            f"{each.trimmed:.0%}",
        )
        for each in known
    ]
    headings = ("way of decoding", "in-step", "gross", "useful", "passes", "accepted a pass", "trimmed")
    text = (
        "Tokens a second. Accepted are the tokens of a first text that is right; trimmed is the share of the computed "
        "rows that are in no candidate."
    )
    return Section("Throughput", text, (chart,), (Table(headings, tuple(rows)),))


def _frontier(results: Results) -> Section | None:
    fought = [each for each in qualities(results, FIGHT) if each.budget_ms is not None]
    series = []
    for number, (way, candidates) in enumerate(dict.fromkeys((each.way, each.candidates) for each in fought)):
        settings = sorted((each for each in fought if (each.way, each.candidates) == (way, candidates)), key=_ms)
        name = f"{way}, {counted(candidates)}"
        series.append(_quality_series(name, settings, _ms, number))
    if not series:
        return None
    problems = max(each.problems for each in fought)
    chart = Chart(
        "frontier",
        "Quality and latency of each way of decoding",
        "median ms of an answer",
        "right first",
        tuple(series),
        f"One dot for each budget, on {problems} problems; bars are 95 % intervals. Up and left is better.",
        (Mark(USUAL_MS, f"{USUAL_MS:.0f} ms"),),
        percent=True,
    )
    return Section("Quality against latency", "", (chart,))


def _passes(results: Results) -> Section | None:
    known = [each for each in qualities(results) if each.passes is not None]
    series = []
    for number, model in enumerate(dict.fromkeys(each.model for each in known)):
        settings = sorted((each for each in known if each.model == model), key=_pass_count)
        series.append(_quality_series(f"{model}, right first", settings, _pass_count, number))
        among = _quality_series(f"{model}, right among all", settings, _pass_count, number, among_all=True)
        series.append(among)
    if len(known) < 2:
        return None
    counts = sorted({each.problems for each in known})
    chart = Chart(
        "passes",
        "Quality against the number of passes",
        "passes allowed",
        "problems",
        tuple(series),
        f"Without a limit of time, 4 candidates, {' or '.join(map(str, counts))} problems; bars are 95 % intervals.",
        percent=True,
    )
    return Section("The knob: passes", "", (chart,))


def _kinds(results: Results) -> Section | None:
    known = qualities(results)
    if not known:
        return None
    rows = [
        (
            f"{each.model}, {limit_of(each)}, {counted(each.candidates)}",
            str(each.problems),
            share(each.first),
            share(each.any),
            f"{each.ms:.0f}",
        )
        for each in sorted(known, key=lambda each: (each.model, each.passes or 0, each.budget_ms or 0, each.candidates))
    ]
    tables = [Table(("setting", "problems", "right first", "right among all", "median ms"), tuple(rows))]
    usual = [line for line in results.of("answer", suite="quality", budget_ms=USUAL_MS) if line["candidates"] > 1]
    models = tuple(dict.fromkeys(line["model"] for line in usual))
    kinds = dict.fromkeys(line["kind"] for line in usual)
    if models:
        by_kind = [(kind, _count(usual, models[0], kind), *_shares(usual, models, kind)) for kind in kinds]
        headings = ("kind of problem", "problems", *(f"{model}, first / all" for model in models))
        tables.append(Table(headings, tuple(by_kind)))
    text = (
        "A text is right if it is the original one or if the completed program passes its tests. JSON has to parse, "
        "and an SQL query has to give the original's rows."
    )
    return Section("Quality", text, (), tuple(tables))


def _resources(results: Results) -> Section | None:
    rows = []
    for line in results.of("memory", moment="at the end"):
        rows.append(("server, resident memory", f"{line['server_mb']:.0f} MB"))
        rows.append((f"its worker with {line['model']}, resident memory", f"{line['worker_mb']:.0f} MB"))
    for (model, way), ms in cpu_ms_a_character(results).items():
        rows.append((f"{model}, {way}: processor time for a right character", f"{ms:.0f} ms"))
    joules = [line["joules"] for line in results.of("resources") if line["joules"] is not None]
    seconds = sum(line["seconds"] for line in results.of("resources") if line["joules"] is not None)
    if joules and seconds:
        rows.append(("mean power of the processors while measuring", f"{sum(joules) / seconds:.0f} W"))
    loads = {line["model"]: line for line in reversed(results.of("load"))}
    rows += [
        (f"loading {model}", f"{line['seconds']:.1f} s, {line['profile'] or line['device']}")
        for model, line in loads.items()
    ]
    return Section("Resources", "", (), (Table(("what", "measured"), tuple(rows)),)) if rows else None


def _quality_series(
    name: str, settings: Sequence[Quality], across: Callable[[Quality], float], hue: int, *, among_all: bool = False
) -> Series:
    values = [each.any if among_all else each.first for each in settings]
    return Series(
        name,
        tuple((across(each), value.value) for each, value in zip(settings, values, strict=True)),
        tuple(value.low for value in values),
        tuple(value.high for value in values),
        dots=True,
        hue=hue,
        dashed=among_all,
    )


def _count(lines: Sequence[Record], model: str, kind: str) -> str:
    return str(len({line["problem"] for line in lines if line["kind"] == kind and line["model"] == model}))


def _shares(lines: Sequence[Record], models: Sequence[str], kind: str) -> list[str]:
    found = []
    for model in models:
        some = [line for line in lines if line["kind"] == kind and line["model"] == model]
        first = mean([float(bool(line["right"] and line["right"][0])) for line in some])
        found.append(f"{first:.0%} / {mean([float(any(line['right'])) for line in some]):.0%}")
    return found


def _ms(each: Quality) -> float:
    return each.ms


def _pass_count(each: Quality) -> float:
    return float(each.passes or 0)
