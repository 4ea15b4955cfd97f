"""The metrics, as plain functions of texts and numbers.

Truncation rule: a candidate is judged as it would be inserted, after the product's own cleaning (a one-line hole ends
at its line end, and the text right of the cursor is not repeated). Before the comparison, both texts lose trailing
blanks on every line and trailing blank lines, and nothing else.
"""

import ast
import re
from collections.abc import Mapping, Sequence

import numpy as np

from infill_engine.text import syntax
from infill_engine.text.lines import indent_of

RESAMPLES = 1000
LEAST_SIGNIFICANT = 3
_WORD_CHARACTER = re.compile(r"\w")


def is_trivial(gold: str) -> bool:
    """Return whether a gold text has fewer than three letters, digits or underscores: closers and other punctuation."""
    return len(_WORD_CHARACTER.findall(gold)) < LEAST_SIGNIFICANT


def parses(before: str, candidate: str, after: str, gold: str, language: str = "python") -> bool:
    """Return whether the candidate leaves no more syntax errors in the document than the gold text does."""
    return _faults(before + candidate + after, language) <= _faults(before + gold + after, language)


def indentation_is_wrong(candidate: str, indent: str, language: str = "python") -> bool:
    """Return whether a multi-line candidate is indented wrongly, given that its first line follows `indent`.

    Python's own parser decides for Python. In other languages a line is wrong if it is indented less or mixes tabs and
    spaces.
    """
    if "\n" not in candidate.strip():
        return False
    if language != "python":
        rows = [row for row in candidate.rstrip().split("\n")[1:] if row.strip()]
        return any(not row.startswith(indent) or " \t" in indent_of(row) for row in rows)
    try:
        ast.parse(("if 1:\n" if indent else "") + indent + candidate.rstrip() + "\n")
    except IndentationError as fault:
        # A final header without a body is not wrong indentation; its body may still follow.
        return "expected an indented block" not in str(fault.msg)
    except (SyntaxError, ValueError):
        return False
    return False


def repeats_suffix(candidate: str, suffix: str, gold: str) -> bool:
    """Return whether the candidate repeats the text right of the cursor or the next line, and the gold does not."""
    right, _, below = suffix.partition("\n")
    right = right.strip()
    if right and not _ends_with(candidate, right):
        return False
    if right:
        return not _ends_with(gold, right)
    following = next((line.strip() for line in below.split("\n") if line.strip()), "")
    if is_trivial(following):
        return False
    written = [line.strip() for line in candidate.split("\n")]
    return following in written and following not in [line.strip() for line in gold.split("\n")]


def cluster_interval(values: Mapping[str, Sequence[float]], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % interval of the mean over all values, by resampling whole clusters; (0, 0) without values.

    `values` are lists by cluster (package or problem). Holes of one cluster are not independent.
    """
    sums = np.array([sum(cluster) for cluster in values.values() if cluster])
    counts = np.array([len(cluster) for cluster in values.values() if cluster])
    if not len(sums):
        return 0.0, 0.0
    drawn = np.random.default_rng(seed).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)


def reliability(confidences: Sequence[float], right: Sequence[bool], bins: int = 10) -> list[dict[str, float]]:
    """Return count, mean confidence and share correct for each non-empty bin of confidence."""
    found = []
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [
            (confidence, is_right)
            for confidence, is_right in zip(confidences, right, strict=True)
            if low <= confidence < high or (number == bins - 1 and confidence >= high)
        ]
        if inside:
            mean = sum(confidence for confidence, _ in inside) / len(inside)
            accuracy = sum(is_right for _, is_right in inside) / len(inside)
            found.append({"n": len(inside), "confidence": round(mean, 4), "right": round(accuracy, 4)})
    return found


def expected_calibration_error(bins: Sequence[Mapping[str, float]]) -> float:
    """Return the mean distance between confidence and accuracy over the bins of `reliability`, weighted by count."""
    total = sum(entry["n"] for entry in bins)
    return sum(entry["n"] * abs(entry["confidence"] - entry["right"]) for entry in bins) / total if total else 0.0


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 without values."""
    return sum(values) / len(values) if values else 0.0


def _faults(text: str, language: str) -> int:
    tree = syntax.parse(text, language)
    return 0 if tree is None else syntax.faults(tree)


def _ends_with(text: str, end: str) -> bool:
    return text.rstrip().endswith(end)
