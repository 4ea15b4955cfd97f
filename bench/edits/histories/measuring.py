"""Scores what is proposed for examples of version histories.

shown             share of the places with a next edit for which something is proposed
chrf              of the lines that the first proposal changes, beside what they became; 0 to 100, where shown
exact             share of all places whose first proposal makes later edits of the commit, and nothing else
quiet             share of finished and reverted states for which nothing is proposed
reversals         share of proposals that touch the newest edit or restore an earlier text
broken            proposals that add a syntax error
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bench.edits.case import faults, reverses
from bench.edits.histories.commits import Hunk, lines_of
from bench.edits.histories.examples import earlier_texts
from bench.edits.histories.systems import edited_texts
from bench.spread import spread
from infill_engine.edits.types import Edit, Proposal, applied

ORDERS, BETA = 6, 2.0  # of chrF (Popović 2015)

System = Callable[[dict[str, Any]], Sequence[Proposal]]


def measure(examples: Iterable[dict[str, Any]], system: System) -> Iterator[dict[str, Any]]:
    """Yield a row for each example."""
    for example in examples:
        began, computed = time.perf_counter(), time.thread_time()
        proposals = system(example)
        elapsed, computed = (time.perf_counter() - began) * 1000, (time.thread_time() - computed) * 1000
        yield _row(example, proposals) | {"ms": round(elapsed, 2), "cpu_ms": round(computed, 2)}


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures above, those of each language, and the share of each kind of proposal."""
    places = [row for row in rows if row["kind"] == "edit"]
    ends = [row for row in rows if row["kind"] != "edit"]
    shown = [row for row in places if row["proposals"]]
    proposed = sum(len(row["proposals"]) for row in rows)
    return {
        "places": len(places),
        "shown": _share(shown, places),
        "chrf": round(sum(row["chrf"] for row in shown) / max(1, len(shown)), 1),
        "exact": _share([row for row in places if row["exact"]], places),
        "touching": _share([row for row in shown if row["touches"]], shown),
        "ends": len(ends),
        "quiet": _share([row for row in ends if not row["proposals"]], ends),
        "reversals": round(sum(row["reversals"] for row in rows) / max(1, proposed), 4),
        "broken": sum(row["broken"] for row in rows),
        "ms": spread([row["ms"] for row in rows]),
        "cpu_ms": spread([row["cpu_ms"] for row in rows]),
        "first": {
            kind: [
                sum(row["proposals"][0]["kind"] == kind for row in shown),
                sum(row["proposals"][0]["kind"] == kind and row["exact"] for row in shown),
                sum(row["proposals"][0]["kind"] == kind for row in ends if row["proposals"]),
            ]
            for kind in sorted({row["proposals"][0]["kind"] for row in rows if row["proposals"]})
        },
    }


def chrf(proposed: str, wanted: str) -> float:
    """Return the character n-gram F-score of two texts without their blanks, 0 to 100."""
    proposed, wanted = "".join(proposed.split()), "".join(wanted.split())
    if not proposed or not wanted:
        return 100.0 if proposed == wanted else 0.0
    precision = recall = 0.0
    orders = min(ORDERS, len(proposed), len(wanted))
    for order in range(1, orders + 1):
        one, other = _grams(proposed, order), _grams(wanted, order)
        common = sum((one & other).values())
        precision += common / sum(one.values()) / orders
        recall += common / sum(other.values()) / orders
    if not precision or not recall:
        return 0.0
    return 100 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _grams(text: str, order: int) -> Counter[str]:
    return Counter(text[at : at + order] for at in range(len(text) - order + 1))


def _row(example: dict[str, Any], proposals: Sequence[Proposal]) -> dict[str, Any]:
    text, language = example["text"], example["language"]
    results = [applied(text, proposal.edits) for proposal in proposals]
    errors = faults(text, language)
    edited = edited_texts(example)
    earlier = set(earlier_texts(example))
    row = {
        "repository": example["repository"],
        "commit": example["commit"],
        "path": example["path"],
        "language": language,
        "kind": example["kind"],
        "proposals": [
            {"kind": proposal.kind.value, "confidence": round(proposal.confidence, 3), "edits": len(proposal.edits)}
            for proposal in proposals
        ],
        "reversals": sum(
            result in earlier or (bool(edited) and reverses(proposal, edited[0]))
            for proposal, result in zip(proposals, results, strict=True)
        ),
        "broken": sum(result is None or faults(result, language) > errors for result in results),
        "chrf": 0.0,
        "exact": False,
        "touches": False,
    }
    if example["rest"] and proposals:
        row |= judged(text, [Hunk(**hunk) for hunk in example["rest"]], proposals[0].edits)
    return row


def judged(text: str, rest: Sequence[Hunk], edits: Sequence[Edit]) -> dict[str, Any]:
    """Compare the first proposal with the edits still to come that it touches, or else with the one most like it."""
    lines = lines_of(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    touched: list[Hunk] = []
    proposed, outside, grown = "", list(edits), 0
    whole = True
    for hunk in rest:
        count = len(lines_of(hunk.old))
        row = hunk.row - grown
        grown += hunk.growth
        start, end = starts[row], starts[row + count]
        inside = [edit for edit in outside if start <= edit.span.start and edit.span.end <= end]
        if not inside:
            continue
        outside = [edit for edit in outside if edit not in inside]
        result, at = "", start
        for edit in sorted(inside):
            result += text[at : edit.span.start] + edit.new
            at = edit.span.end
        result += text[at:end]
        whole &= result == hunk.new
        touched.append(hunk)
        proposed += result
    proposed += "".join(edit.new for edit in outside)
    wanted = ["".join(hunk.new for hunk in touched)] if touched else [hunk.new for hunk in rest]
    return {
        "chrf": round(max(chrf(proposed, one) for one in wanted), 1),
        "exact": bool(touched) and whole and not outside,
        "touches": bool(touched),
    }


def _share(some: Sequence[object], all_of: Sequence[object]) -> float:
    return round(len(some) / max(1, len(all_of)), 4)
