"""Sums the cost of typing over many texts, at one threshold and at many."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bench.quality.reports.metrics import cluster_interval
from bench.quality.reports.outcomes import ALL
from bench.quality.typed.retyping import Looks, Sight, Typing, seen, typed
from infill_engine.diagnostics.benchmark.statistics import percentile

THRESHOLDS = tuple(step / 20 for step in range(20))
CURVE = ("saved", "right_of_shown", "wrong_per_100_keystrokes", "visible", "right_of_visible", "wrong_starts")


def summarise(results: Sequence[Looks], show_from: float, budget_ms: float) -> dict[str, dict[str, dict[str, Any]]]:
    """Return results at one threshold by system and kind, `all` first."""
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for (system, kind), group in groups_of(results).items():
        found[system][kind] = figures_of(group, show_from, budget_ms)
    return found


def curve(results: Sequence[Looks]) -> list[dict[str, float]]:
    """Return the savings and the rate of wrong interruptions at each threshold, over all `results`."""
    found = []
    for show_from in THRESHOLDS:
        figures = figures_of(results, show_from, float("inf"))
        found.append({"show_from": show_from} | {name: figures[name] for name in CURVE})
    return found


def groups_of(results: Sequence[Looks]) -> dict[tuple[str, str], list[Looks]]:
    """Return the results by system and kind; `all` kinds too."""
    groups: dict[tuple[str, str], list[Looks]] = defaultdict(list)
    for result in results:
        groups[result.system, ALL].append(result)
        groups[result.system, result.kind].append(result)
    return groups


def figures_of(group: Sequence[Looks], show_from: float, budget_ms: float) -> dict[str, Any]:
    total, sight = Typing(), Sight()
    # A share of characters, so each character counts equally. Those of one package are not independent.
    clusters: dict[str, list[float]] = defaultdict(list)
    for result in group:
        typing = typed(result, show_from)
        total += typing
        sight += seen(result, show_from)
        characters = len(result.gold)
        clusters[result.cluster] += [1 - typing.keystrokes / characters] * characters
    characters = sum(map(len, clusters.values()))
    times = [look.ms for result in group for look in result.looks]
    return {
        "holes": len(group),
        "characters": characters,
        "keystrokes": total.keystrokes,
        "saved": round(1 - total.keystrokes / characters, 4),
        "saved_interval": [round(bound, 4) for bound in cluster_interval(clusters)],
        "shown": total.shown,
        "taken": total.taken,
        "right_of_shown": round(total.taken / total.shown, 4) if total.shown else 0.0,
        "wrong_per_100_keystrokes": round(100 * (total.shown - total.taken) / total.keystrokes, 2),
        "visible": round(sight.visible / sight.keystrokes, 4),
        "right_of_visible": round(sight.right / sight.visible, 4) if sight.visible else 0.0,
        "wrong_starts": round(sight.wrong_starts / sight.keystrokes, 4),
        "fresh": round(total.fresh / total.keystrokes, 4),
        "p50_ms": round(percentile(times, 0.5), 2),
        "p99_ms": round(percentile(times, 0.99), 2),
        "late": round(sum(ms > budget_ms for ms in times) / len(times), 4),
    }
