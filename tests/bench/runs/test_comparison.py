"""What was injected into one of two runs is found, and nothing else."""

import pytest
from made_results import add_answers, add_generations, add_passes, empty

from bench.runs import comparison
from bench.runs.comparison import (
    CLOCK_TIME,
    PROCESSOR_TIME,
    Difference,
    compare,
    doubts,
)
from bench.runs.levels import drift
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.statistics import Estimate


def passes(seed: int, factor: float = 1.0) -> Results:
    results = empty()
    add_passes(results, seed, factor)
    return results


def answers(right: list[bool]) -> Results:
    results = empty()
    add_answers(results, right, way="6 passes", budget_ms=20_000.0)
    return results


def one(found: list[Difference]) -> Difference:
    (difference,) = found
    return difference


def processor_time(before: Results, after: Results) -> Estimate:
    found = {each.what: each.estimate for each in compare(before, after)}
    assert list(found) == [PROCESSOR_TIME, CLOCK_TIME]
    return found[PROCESSOR_TIME]


def test_a_slowdown_of_ten_percent_is_found() -> None:
    found = [processor_time(passes(seed), passes(100 + seed, 1.1)) for seed in range(20)]
    assert sum(each.p < 0.01 for each in found) >= 19
    assert all(1.05 < each.value < 1.15 for each in found)


def test_two_runs_of_one_build_agree() -> None:
    found = [processor_time(passes(seed), passes(100 + seed)) for seed in range(20)]
    assert sum(each.low <= 1 <= each.high for each in found) >= 18
    assert sum(each.p < 0.01 for each in found) <= 1


def test_without_processor_times_the_clock_has_to_do() -> None:
    """So it is with results of earlier versions, and where the system counts a short calculation as 0."""
    before, after = passes(1), passes(2)
    after.of("pass")[3]["reference_ms"] = 0.0
    assert one(compare(before, after)).what == CLOCK_TIME


def test_a_loss_of_quality_is_found() -> None:
    before = [number % 2 == 0 for number in range(60)]
    worse = [right and number % 4 for number, right in enumerate(before)]
    found = compare(answers(before), answers(list(map(bool, worse))))
    assert [each.is_loss for each in found] == [True, True, False]  # all texts are the same
    assert {each.pairs for each in found} == {60}
    assert not any(each.is_loss for each in compare(answers(before), answers(before)))
    assert not any(each.is_loss for each in compare(answers(list(map(bool, worse))), answers(before)))  # a gain
    almost = [*before[:-2], not before[-2], before[-1]]
    assert not any(each.is_loss for each in compare(answers(before), answers(almost)))


def test_texts_that_become_less_similar_are_a_loss_though_no_right_one_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_originals", lambda: {f"p{number}": "text" for number in range(60)})
    before, after = (answers([number % 9 == 0 for number in range(60)]) for _ in range(2))
    for line in after.of("answer")[1::9]:
        line["texts"] = ["another"]
    assert [each.is_loss for each in compare(before, after)] == [False, False, True]


def test_a_drift_of_one_percent_in_ten_generations_is_found() -> None:
    steady, drifting = empty(), empty()
    add_generations(steady, 100, 0.0)
    add_generations(drifting, 100, 0.001)
    before, after = drift(steady), drift(drifting)
    assert before is not None
    assert before.slower.p > 0.01
    assert after is not None
    assert after.slower.p < 0.01
    assert after.slower.value == pytest.approx(0.1, abs=0.05)
    assert one(compare(steady, drifting)).what == "drift of a pass"


def test_a_drift_that_ends_with_each_process_is_none_of_all() -> None:
    results = empty()
    add_generations(results, 100, 0.001, life=20, levels=(1.0, 1.0, 1.0, 1.1, 1.1))
    found = drift(results, recycled=True)
    assert found is not None
    assert found.slower.p > 0.01
    few = empty()
    add_generations(few, 40, 0.001, life=20)
    assert drift(few, recycled=True) is None


def test_other_machines_and_problems_are_doubtful() -> None:
    before, after = answers([True]), answers([True])
    assert doubts(before, after) == []
    after.header |= {"problems": "xyz", "machine": {"processor": "other"}, "packages": {"torch": "2.0"}}
    after.add("doubt", sentence="This machine runs on battery.")
    assert [sentence.split(":")[0] for sentence in doubts(before, after)] == [
        "The runs were made on different processors",
        "The runs used different versions of torch, which also computes what processor times are relative to.",
        "The runs have different problems",
        "The second run",
    ]


def test_nothing_in_common() -> None:
    assert compare(empty(), answers([True])) == []
