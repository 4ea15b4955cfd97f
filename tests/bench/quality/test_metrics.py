"""The measures, against literals and against their plain definitions."""

import math

import pytest

from bench.quality.reports import metrics


@pytest.mark.parametrize(("gold", "trivial"), [("):", True), ("]))", True), ("x)", True), ("if", True), ("abc", False)])
def test_trivial(gold: str, trivial: bool) -> None:
    assert metrics.is_trivial(gold) is trivial


@pytest.mark.parametrize(
    ("prefix", "candidate", "suffix", "gold", "parses"),
    [
        ("x = f(", "1", ")\n", "2", True),
        ("x = f(", "1)", ")\n", "2", False),
        ("x = ", "1 +", "\n", "2", False),
        ("x = = ", "1", "\n", "2", True),  # faults that were there before are not the candidate's
    ],
)
def test_parse_rate_counts_new_faults(prefix: str, candidate: str, suffix: str, gold: str, parses: bool) -> None:
    assert metrics.parses(prefix, candidate, suffix, gold) is parses


@pytest.mark.parametrize(
    ("candidate", "indent", "wrong"),
    [
        ("a = 1\n    b = 2", "    ", False),
        ("a = 1\n  b = 2", "    ", True),
        ("a = 1\n      b = 2", "    ", True),
        ("if a:\n        b()", "    ", False),
        ("if a:", "    ", False),
        ("for a in b:\n        if a:", "    ", False),
        ("one line", "    ", False),
    ],
)
def test_indentation(candidate: str, indent: str, wrong: bool) -> None:
    assert metrics.indentation_is_wrong(candidate, indent) is wrong


@pytest.mark.parametrize(
    ("candidate", "suffix", "gold", "repeats"),
    [
        ("a, b)", ")\nrest()\n", "a, b", True),
        ("a, b", ")\nrest()\n", "a, b", False),
        ("f()\nrest()", "\nrest()\n", "f()", True),
        ("f()", "\nrest()\n", "f()", False),
        ("rest()", "\nrest()\n", "rest()", False),  # the gold text does so too
    ],
)
def test_suffix_repeated(candidate: str, suffix: str, gold: str, repeats: bool) -> None:
    assert metrics.repeats_suffix(candidate, suffix, gold) is repeats


def test_the_interval_follows_clusters_not_holes() -> None:
    low, high = metrics.cluster_interval({"a": [1.0] * 50, "b": [0.0] * 50})
    assert (low, high) == (0.0, 1.0)
    low, high = metrics.cluster_interval({str(number): [float(number % 2)] for number in range(100)})
    assert 0.35 < low < 0.5 < high < 0.65
    assert metrics.cluster_interval({}) == (0.0, 0.0)
    assert metrics.cluster_interval({"a": [1.0, 0.0]}) == (0.5, 0.5)


def test_reliability_and_its_error() -> None:
    bins = metrics.reliability([0.05, 0.95, 0.95, 1.0], [False, True, True, False])
    assert [(entry["n"], entry["right"]) for entry in bins] == [(1, 0.0), (3, pytest.approx(2 / 3, abs=1e-3))]
    assert math.isclose(metrics.expected_calibration_error(bins), (0.05 + 3 * abs(0.9667 - 0.6667)) / 4, abs_tol=1e-3)
    assert metrics.expected_calibration_error([]) == 0.0
