"""The measures, as plain functions of texts and numbers.

Truncation rule: a candidate is judged as it would be inserted, after the product's own cleaning (a hole for one line
ends at its line end, whatever stands right of the cursor is not repeated). Both texts lose trailing blanks at every
line's end and blank lines at their own end before they are compared, and nothing else.
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
_BLANK_ENDS = re.compile(r"[^\S\n]+(?=\n|\Z)")


def trimmed(text: str) -> str:
    """`text` as it is compared."""
    return _BLANK_ENDS.sub("", text.replace("\r\n", "\n")).rstrip()


def is_exact(candidate: str, gold: str) -> bool:
    """Whether two texts are the same, trailing blanks aside."""
    return trimmed(candidate) == trimmed(gold)


def is_trivial(gold: str) -> bool:
    """Whether a gold text has fewer than three letters, digits or underscores: closers and other punctuation."""
    return len(_WORD_CHARACTER.findall(gold)) < LEAST_SIGNIFICANT


def levenshtein(one: str, other: str) -> int:
    """Insertions, deletions and substitutions from one text to the other (Hyyrö 2003: one column as one integer)."""
    if len(one) < len(other):
        one, other = other, one
    if not other:
        return len(one)
    places: dict[str, int] = {}
    for row, character in enumerate(other):
        places[character] = places.get(character, 0) | 1 << row
    everything, last = (1 << len(other)) - 1, 1 << (len(other) - 1)
    up, down, distance = everything, 0, len(other)
    for character in one:
        equal = places.get(character, 0)
        vertical = equal | down
        diagonal = (((equal & up) + up) ^ up) | equal
        right = down | ~(diagonal | up)
        left = up & diagonal
        distance += bool(right & last) - bool(left & last)
        right = (right << 1) | 1
        up = ((left << 1) | ~(vertical | right)) & everything
        down = right & vertical & everything
    return distance


def edit_similarity(candidate: str, gold: str) -> float:
    """1 - distance / length of the longer text, after trimming; 1 for equal texts, 0 for silence."""
    one, other = trimmed(candidate), trimmed(gold)
    longest = max(len(one), len(other))
    return 1 - levenshtein(one, other) / longest if longest else 1.0


def parses(prefix: str, candidate: str, suffix: str, gold: str, language: str = "python") -> bool:
    """Whether the candidate leaves no more syntax faults between these windows than the gold text does."""
    return _faults(prefix + candidate + suffix, language) <= _faults(prefix + gold + suffix, language)


def indentation_is_wrong(candidate: str, indent: str, language: str = "python") -> bool:
    """Whether a candidate of several lines is indented wrongly where its first line stands behind `indent`.

    Python is asked; in other languages a line is wrong that stands further left, or mixes tabs and blanks.
    """
    if "\n" not in candidate.strip():
        return False
    if language != "python":
        rows = [row for row in candidate.rstrip().split("\n")[1:] if row.strip()]
        return any(not row.startswith(indent) or " \t" in indent_of(row) for row in rows)
    try:
        ast.parse(("if 1:\n" if indent else "") + indent + candidate.rstrip() + "\n")
    except IndentationError as fault:
        # A header at the end wants a body that may still come: that is no wrong indentation.
        return "expected an indented block" not in str(fault.msg)
    except (SyntaxError, ValueError):
        return False
    return False


def repeats_suffix(candidate: str, suffix: str, gold: str) -> bool:
    """Whether the candidate writes what stands right of the cursor, or the next line, again, and the gold does not."""
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
    """The 95 % interval of the mean over all values, by resampling whole clusters; (0, 0) for nothing.

    `values` are lists by cluster (package or problem): holes of one cluster are not independent of each other.
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
    """Per bin of confidence that is not empty: its count, mean confidence, and the share that was right."""
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
    """The mean distance between confidence and accuracy over the bins of `reliability`, weighted by their counts."""
    total = sum(entry["n"] for entry in bins)
    return sum(entry["n"] * abs(entry["confidence"] - entry["right"]) for entry in bins) / total if total else 0.0


def mean(values: Sequence[float]) -> float:
    """The mean; 0 for nothing."""
    return sum(values) / len(values) if values else 0.0


def _faults(text: str, language: str) -> int:
    tree = syntax.parse(text, language)
    return 0 if tree is None else syntax.faults(tree)


def _ends_with(text: str, end: str) -> bool:
    return text.rstrip().endswith(end)
