"""Which setting is recommended: the usual one, unless the numbers speak for another."""

import pytest
from made_results import add_answers, empty

from infill_engine.diagnostics.benchmark.figures import qualities
from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.verdict import Verdict, judge

GOOD = [number % 3 > 0 for number in range(60)]
BAD = [number % 3 == 0 for number in range(60)]


def verdict(results: Results) -> Verdict:
    found = judge(results)
    assert found is not None
    return found


def test_the_better_model() -> None:
    results = empty()
    add_answers(results, GOOD, model="trunk")
    add_answers(results, BAD, model="other")
    assert (verdict(results).model, verdict(results).budget_ms, verdict(results).candidates) == ("trunk", 150, 4)
    assert verdict(results).numbers["right_first"] == pytest.approx(2 / 3, abs=1e-3)


def test_a_model_that_is_late_is_not_chosen() -> None:
    results = empty()
    add_answers(results, GOOD, model="trunk", ms=400.0)
    add_answers(results, BAD, model="other")
    assert verdict(results).model == "other"


def test_another_setting_has_to_be_significantly_better() -> None:
    results = empty()
    add_answers(results, BAD)
    add_answers(results, [*BAD[:-1], True], budget_ms=300.0, ms=200.0)
    assert verdict(results).budget_ms == 150
    add_answers(results, [True] * 60, budget_ms=250.0, ms=200.0)
    assert verdict(results).budget_ms == 250
    add_answers(results, [True] * 60, budget_ms=1000.0, ms=800.0)  # too long to wait for while typing
    assert verdict(results).budget_ms == 250


def test_the_engines_own_choice_stays_unless_another_model_is_significantly_better() -> None:
    results = empty()
    add_answers(results, BAD, model="trunk")
    add_answers(results, [*BAD[:-1], True], model="other")
    assert verdict(results).model == "trunk"
    add_answers(results, [True] * 60, model="other", budget_ms=300.0, ms=200.0)
    found = verdict(results)
    assert (found.model, found.budget_ms, found.candidates) == ("other", 300, 4)
    assert found.numbers["gain"] == pytest.approx(2 / 3, abs=1e-3)
    assert found.numbers["gain_p"] < 0.01


def test_a_text_that_comes_too_late_is_none() -> None:
    results = empty()
    add_answers(results, [True] * 60, ms=300.0, way="6 passes")
    add_answers(results, GOOD)
    late, served = sorted(qualities(results), key=lambda each: each.way)
    assert (late.first.value, late.inside) == (0, 0)
    assert served.first.value == pytest.approx(2 / 3)


def test_too_little_for_a_verdict() -> None:
    assert judge(empty()) is None
