"""Judges one system's reply to one hole, and summarises many of them."""

import gzip
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bench.json_lines import write_lines
from bench.quality.reports import metrics
from bench.quality.reports.acceptance import is_acceptable
from bench.quality.systems.product import Question, Reply
from bench.similarity import edit_similarity
from infill_engine.diagnostics.benchmark.problems.judging import is_exact, trimmed
from infill_engine.diagnostics.benchmark.statistics import percentile
from infill_engine.errors import InputError

ALL = "all"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A judged reply, one line of the raw results. Lists run over the candidates, best first."""

    system: str
    id: str
    cluster: str
    kind: str
    trivial: bool
    gold: str
    texts: list[str]
    confidences: list[float]
    sources: list[str]
    partial: list[bool]
    exact: list[bool]
    similarity: list[float]
    parses: list[bool]
    indentation_wrong: list[bool]
    suffix_repeated: list[bool]
    elapsed_ms: float
    late: bool
    reason: str
    extra: dict[str, float] = field(default_factory=dict)
    proposals: list[dict[str, Any]] = field(default_factory=list)
    passed: list[bool] | None = None
    language: str = "python"


def judge(system: str, question: Question, reply: Reply, budget_ms: float) -> Outcome:
    """Compare every text of a reply with the gold text and the text around the hole."""
    task, request = question.task, question.request
    gold = task.gold
    before, after = task.sides
    return Outcome(
        system=system,
        id=task.id,
        cluster=task.cluster,
        kind=task.kind,
        trivial=task.trivial,
        gold=gold,
        texts=list(reply.texts),
        confidences=list(reply.confidences),
        sources=list(reply.sources),
        partial=list(reply.partial),
        exact=[is_exact(text, gold) for text in reply.texts],
        similarity=[round(edit_similarity(text, gold), 4) for text in reply.texts],
        parses=[metrics.parses(before, text, after, gold, task.language) for text in reply.texts],
        indentation_wrong=[
            metrics.indentation_is_wrong(text, question.hole.indent, task.language) for text in reply.texts
        ],
        suffix_repeated=[metrics.repeats_suffix(text, request.suffix, gold) for text in reply.texts],
        elapsed_ms=round(reply.elapsed_ms, 2),
        late=reply.elapsed_ms > budget_ms,
        reason=reply.reason,
        extra=reply.extra,
        proposals=[{**one, "right": _is_right(one, gold, f"{before}\n{after}")} for one in reply.proposals],
        language=task.language,
    )


def summarise(outcomes: Sequence[Outcome], candidates: int) -> dict[str, dict[str, dict[str, Any]]]:
    """Return results over non-trivial holes by system and kind (and `all`). Trivial holes are kinds of their own."""
    groups: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        kinds = (f"{outcome.kind} (trivial)",) if outcome.trivial else (ALL, outcome.kind)
        for kind in kinds:
            groups[outcome.system][kind].append(outcome)
    return {
        system: {kind: figures(group, candidates) for kind, group in kinds.items()} for system, kinds in groups.items()
    }


def by_language(outcomes: Sequence[Outcome], candidates: int) -> dict[str, dict[str, dict[str, dict[str, Any]]]]:
    """Return the result of `summarise` for each language."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        groups[outcome.language].append(outcome)
    return {language: summarise(group, candidates) for language, group in groups.items()}


def figures(outcomes: Sequence[Outcome], candidates: int) -> dict[str, Any]:
    """Return shares of all holes, with silence counted as wrong, and times in ms.

    Shares of shown candidates only are named so.
    """
    times = [outcome.elapsed_ms for outcome in outcomes]
    shown = [outcome for outcome in outcomes if outcome.texts]
    first = [float(any(outcome.exact[:1])) for outcome in outcomes]
    any_of = [float(any(outcome.exact)) for outcome in outcomes]
    found: dict[str, Any] = {
        "n": len(outcomes),
        "exact_match@1": _share(first),
        "exact_match@1_interval": _interval(outcomes, first),
        f"exact_match@{candidates}": _share(any_of),
        f"exact_match@{candidates}_interval": _interval(outcomes, any_of),
        "edit_similarity": _share([outcome.similarity[0] if outcome.texts else 0.0 for outcome in outcomes]),
        f"edit_similarity@{candidates}": _share([max(outcome.similarity, default=0.0) for outcome in outcomes]),
        "exact_match@1_of_shown": _share([float(outcome.exact[0]) for outcome in shown]),
        "abstained": _share([float(not outcome.texts) for outcome in outcomes]),
        "candidates_shown": _share([len(outcome.texts) for outcome in outcomes]),
        "parse_rate": _share(_flat(outcome.parses for outcome in outcomes)),
        "parse_rate@1": _share([float(outcome.parses[0]) for outcome in shown]),
        "indentation_wrong": _share(_flat(outcome.indentation_wrong for outcome in outcomes)),
        "suffix_repeated": _share(_flat(outcome.suffix_repeated for outcome in outcomes)),
        "p50_ms": round(percentile(times, 0.5), 1),
        "p95_ms": round(percentile(times, 0.95), 1),
        "p99_ms": round(percentile(times, 0.99), 1),
        "late": _share([float(outcome.late) for outcome in outcomes]),
        "silences": dict(Counter(outcome.reason for outcome in outcomes if outcome.reason)),
    }
    if any(outcome.passed is not None for outcome in outcomes):
        found["pass@1"] = _share([float(any((outcome.passed or [])[:1])) for outcome in outcomes])
        found[f"pass@{candidates}"] = _share([float(any(outcome.passed or [])) for outcome in outcomes])
    return found


def calibration_of(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Compare shown confidences with the share that was correct: for first candidates only, and for all of them."""
    found: dict[str, Any] = {}
    counted = [outcome for outcome in outcomes if not outcome.trivial]
    for name, most in (("first", 1), ("shown", None)):
        confidences = [value for outcome in counted for value in outcome.confidences[:most]]
        right = [value for outcome in counted for value in outcome.exact[:most]]
        bins = metrics.reliability(confidences, right)
        found[name] = {"ece": round(metrics.expected_calibration_error(bins), 4), "bins": bins}
    return found


def write_outcomes(outcomes: Iterable[Outcome], path: Path) -> Path:
    """Write one JSON line per outcome. Return the path that was written."""
    return write_lines(map(asdict, outcomes), path)


def read_outcomes(path: Path) -> list[Outcome]:
    """Read what `write_outcomes` wrote. Raises InputError for anything else."""
    try:
        data = path.read_bytes()
        return msgspec.json.Decoder(Outcome).decode_lines(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (OSError, ValueError) as fault:
        raise InputError(f"{path} holds no results ({fault}); write some with `python -m bench.quality`") from fault


def _is_right(proposal: dict[str, Any], gold: str, around: str) -> bool:
    """Return whether a person would accept a proposal; of a partial one, whether it is the first half or more."""
    if proposal["features"]["partial"]:
        text, whole = trimmed(proposal["text"]), trimmed(gold)
        return whole.startswith(text) and 2 * len(text) >= len(whole)
    return is_acceptable(proposal["text"], gold, around)


def _interval(outcomes: Sequence[Outcome], values: Sequence[float]) -> list[float]:
    clusters: dict[str, list[float]] = defaultdict(list)
    for outcome, value in zip(outcomes, values, strict=True):
        clusters[outcome.cluster].append(value)
    return [round(bound, 4) for bound in metrics.cluster_interval(clusters)]


def _flat(lists: Iterable[Sequence[bool]]) -> list[float]:
    return [float(value) for values in lists for value in values]


def _share(values: Sequence[float]) -> float:
    return round(metrics.mean(values), 4)
