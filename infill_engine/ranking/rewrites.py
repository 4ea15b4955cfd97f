"""How likely the user wants each of the model's changes of a region: a logistic regression.

The weights are fitted to version histories (`python -m bench.edits.histories.model_fitting`).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from infill_engine.edits.by_model.similarity import NEWEST
from infill_engine.edits.tokens import TOKEN, WORD, replacements_of
from infill_engine.edits.types import PastEdit, Region, ScoredChange

MOST_CHANGES = 2  # of a region
MOST_NATS = 6.0  # differences beyond it count as this much

BY_HAND: Mapping[str, float] = {"wrong": 1.5}  # version histories have no errors of other servers
WEIGHTS: Mapping[str, float] = {
    **BY_HAND,
    "constant": -2.02,
    "worth": 0.71,
    "mean": 1.37,
    "least": 1.36,
    "parting": 0.96,
    "ends": -1.18,
    "same rule": 1.97,
    "inserted before": -0.12,
    "removes nothing": -0.27,
    "inserts nothing": 0.98,
    "is there": -0.77,
    "again": -0.33,
}


def likeliest(changes: Sequence[ScoredChange], region: Region) -> list[tuple[ScoredChange, float]]:
    """Return at most `MOST_CHANGES` changes, each with the probability that the user wants it, the surest first."""
    found = [
        (change, probability(features_of(change, region)))
        for change in changes
        if not takes_back(change, region.history)
    ]
    return sorted(found, key=lambda one: -one[1])[:MOST_CHANGES]


def probability(features: Mapping[str, float], weights: Mapping[str, float] = WEIGHTS) -> float:
    """Return the estimated probability that the user wants a change with these features."""
    return 1 / (1 + math.exp(-sum(weights[name] * value for name, value in features.items())))


def features_of(scores: ScoredChange, region: Region) -> dict[str, float]:
    """Describe a change by numbers, most of them between 0 and 1."""
    newest = region.history[-NEWEST:]
    old, new = _text(scores.removed), _text(scores.inserted)
    added = _added(old, new)
    added_before = sum((_added(edit.old, edit.new) for edit in newest), Counter[str]())
    words = [word for word in added if WORD.match(word)]
    rule = replacements_of(old, new)
    lines = [*region.lines, ""]
    last = scores.row + len(scores.removed)
    around = lines[max(0, scores.row - 2) : last + 2]
    return {
        "constant": 1.0,
        "worth": _bounded(scores.worth),
        "mean": max(scores.new / max(scores.tokens, 1), -3.0),
        "least": _bounded(scores.least),
        "parting": _bounded(scores.parting),
        "ends": math.exp(scores.ends),
        "same rule": float(bool(old) and any(replacements_of(edit.old, edit.new) == rule for edit in region.history)),
        "inserted before": sum(word in added_before for word in words) / len(words) if words else 0.0,
        "removes nothing": float(not scores.removed),
        "inserts nothing": float(not scores.inserted),
        "again": float(not old and any((edit.old, edit.new) == ("", new) for edit in region.history)),
        "wrong": float(any(scores.row <= error.row < last for error in region.diagnostics)),
        "is there": float(bool(scores.inserted) and all(line in around for line in scores.inserted)),
    }


def takes_back(scores: ScoredChange, history: Sequence[PastEdit]) -> bool:
    """Return whether a change is the opposite of one that the user has made."""
    rule = replacements_of(_text(scores.inserted), _text(scores.removed))
    return any(replacements_of(edit.old, edit.new) == rule for edit in history)


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _added(old: str, new: str) -> Counter[str]:
    """Return the tokens that only the new text has."""
    return Counter(TOKEN.findall(new)) - Counter(TOKEN.findall(old))


def _bounded(nats: float) -> float:
    """Return a difference of log-probabilities between -1 and 1."""
    return max(-MOST_NATS, min(MOST_NATS, nats)) / MOST_NATS
