"""Order, de-duplication, syntax check and calibration of proposals for the hole at the cursor `|`."""

from dataclasses import replace
from typing import Any

import pytest

from infill_engine.context.hole import hole_at
from infill_engine.errors import ModelDamagedError
from infill_engine.ranking.calibration import BUILT_IN, Calibration
from infill_engine.ranking.features import Features, evidence
from infill_engine.ranking.rank import LEAST_OF_BEST, UNSURE, Ranking, rank
from infill_engine.types import Candidate, Draft, InfillRequest, ProposedText, Source

COPY = Draft("a", copied=10**9)


def proposal(text: str, mean: float = -0.5, **more: object) -> ProposedText:
    return replace(ProposedText(text, mean, mean * 2), **more)  # type: ignore[arg-type]


def ranking(
    marked: str,
    *proposals: ProposedText,
    language: str = "python",
    candidates: int = 4,
    calibration: Calibration = BUILT_IN,
) -> Ranking:
    prefix, _, suffix = marked.partition("|")
    request = InfillRequest(prefix, suffix, language, candidates=candidates)
    return rank(proposals, request, hole_at(prefix, suffix, language), calibration)


def ranked(marked: str, *proposals: ProposedText, **how: Any) -> tuple[Candidate, ...]:
    return ranking(marked, *proposals, **how).candidates


def evidence_of(marked: str, wanted: ProposedText) -> Features:
    prefix, _, suffix = marked.partition("|")
    request = InfillRequest(prefix, suffix, "python")
    ((_, found),) = evidence([wanted], request, hole_at(prefix, suffix, "python"))
    return found


def check(marked: str, proposals: list[ProposedText], expected: list[str], language: str = "python") -> None:
    assert [candidate.text for candidate in ranked(marked, *proposals, language=language)] == expected


@pytest.mark.parametrize(
    ("marked", "proposals", "expected"),
    [
        ("x = foo(|)\n", [], []),
        ("x = foo(|)\n", [proposal("a", -1), proposal("b", -0.1)], ["b", "a"]),
        # What breaks the syntax is left out where something does not.
        ("x = foo(|)\n", [proposal("a", -1), proposal("b(", -0.1)], ["a"]),
        ("x = |\n", [proposal("foo(a)", -1), proposal("foo(a", -0.1)], ["foo(a)"]),
        # Where all of it does, the less broken comes first and nothing is lost.
        ("x = foo(|)\n", [proposal("a b", -0.1), proposal("a ; b ; c", -0.05)], ["a b", "a ; b ; c"]),
        # A broken buffer is not the candidates' fault.
        ("def f(:\n    x = [1\n    y = foo(|)\n", [proposal("a", -0.1), proposal("b", -0.2)], ["a", "b"]),
        ("x = = (\n|\n", [proposal("a = 1", -0.1)], ["a = 1"]),
        # The same text but for blanks: the more probable stays.
        ("x = foo(|)\n", [proposal("a, b", -1), proposal("a,  b", -0.1)], ["a,  b"]),
        # Equal proposals: shorter, then by alphabet.
        ("x = foo(|)\n", [proposal("b"), proposal("aa"), proposal("a")], ["a", "b", "aa"]),
        ("x = foo(|)\n", [proposal("a"), proposal("b", partial=True), proposal("c", stability=0.2)], ["a", "c", "b"]),
    ],
)
def test_order(marked: str, proposals: list[ProposedText], expected: list[str]) -> None:
    check(marked, proposals, expected)
    check(marked, proposals[::-1], expected)


def test_a_language_without_a_grammar_is_ranked_by_probability() -> None:
    check("x = foo(|)\n", [proposal("a", -1), proposal("b +", -0.1)], ["b +", "a"], "klingon")


def test_json_is_checked_although_a_name_is_no_value_there() -> None:
    check('{"a": |}\n', [proposal("1, 2", -0.1), proposal("1", -1)], ["1"], "json")


def test_no_more_than_asked_for() -> None:
    assert len(ranked("x = |\n", *(proposal(f"a{number}") for number in range(8)), candidates=3)) == 3


def test_model_and_copy_agreeing_is_worth_something() -> None:
    copy = proposal("a", -0.6, source=Source.RETRIEVAL, draft=Draft("a", copied=12))
    alone, both = ranked("x = |\n", proposal("a")), ranked("x = |\n", proposal("a"), copy)
    assert both[0].confidence > alone[0].confidence
    assert both[0].source is Source.MODEL


def test_what_is_likelier_than_the_others_is_worth_more() -> None:
    marked = "x = |\n"
    first, second = ranked(marked, proposal("a", logprob=-9.0), proposal("b", logprob=-7.0))
    assert first.text == "b"
    assert ranked(marked, proposal("b", logprob=-7.0))[0].confidence > first.confidence > second.confidence
    shifted = ranked(marked, proposal("a", logprob=-1009.0), proposal("b", logprob=-1007.0))
    assert [one.confidence for one in shifted] == pytest.approx([first.confidence, second.confidence])
    unasked, asked = ranked(marked, proposal("a"), proposal("b", logprob=-50.0))[::-1]
    assert (unasked.text, asked.text) == ("a", "b")


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (proposal("a", -0.1), proposal("a", -1.0)),
        (proposal("a", length_logprob=-0.1), proposal("a", length_logprob=-2.0)),
        (proposal("a", stability=1.0), proposal("a", stability=0.5)),
        (proposal("a", tokens=1), proposal("a", tokens=9)),
        (proposal("a", partial=False), proposal("a", partial=True)),
        (proposal("a", draft=COPY), proposal("a", draft=Draft("a", copied=4))),
        (proposal("a"), proposal("a b")),
    ],
)
def test_confidence_follows_the_features(better: ProposedText, worse: ProposedText) -> None:
    (high,), (low,) = ranked("x = |\n", better), ranked("x = |\n", worse)
    assert 0 < low.confidence < high.confidence < 1


def test_a_candidate_keeps_what_is_known_of_its_guess() -> None:
    (found,) = ranked("x = |\n", proposal("a", passes=3, partial=True, source=Source.RETRIEVAL))
    assert (found.text, found.passes, found.partial, found.source) == ("a", 3, True, Source.RETRIEVAL)


def test_extreme_values_do_not_overflow() -> None:
    found = ranked("x = |\n", proposal("a", -1e9), proposal("b", 0.0, draft=COPY), proposal("c", float("-inf")))
    assert all(0 < candidate.confidence < 1 for candidate in found)


def test_weights_survive_the_way_through_json() -> None:
    fitted = Calibration(bias=-1.25, weights={"agreement": 3.0}, pairs={"copied*tokens": 0.5})
    assert Calibration.from_json(fitted.to_json()) == fitted
    assert Calibration.from_json("{}") == BUILT_IN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"colour": 1}',
        '{"bias": "high"}',
        '{"bias": true}',
        '{"bias": NaN}',
        '{"pairs": 1}',
        '{"pairs": {"copied": 1}}',
        '{"pairs": {"copied*colour": 1}}',
        '{"pairs": {"copied*tokens": "high"}}',
        '{"copied": 1}',
        '{"weights": {"copied*tokens": 1}}',
        '{"weights": {"colour": 1}}',
        '{"weights": 1}',
    ],
)
def test_damaged_weights_are_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ModelDamagedError, match="Fetch the model again"):
        Calibration.from_json(text)


def test_what_two_features_say_together_counts() -> None:
    plain, paired = (
        {
            candidate.text: candidate.confidence
            for candidate in ranked("x = |\n", proposal("a", draft=COPY), proposal("b"), calibration=calibration)
        }
        for calibration in (Calibration(), Calibration(pairs={"copied*matched": 0.1}))
    )
    assert paired["a"] > plain["a"]
    assert paired["b"] == plain["b"]


def test_a_text_with_a_fault_is_left_out_beside_one_without() -> None:
    """Even where the context has faults of their own, and each new one counts for less."""
    check("def f(:\n    x = |\n", [proposal("a", -1.0), proposal("b(", -0.1)], ["a"])


BROKEN_HEADER = """\
def unpaid(orders: list[Order]) -> list[Order]:
    return [order for order in orders if not order.paid]


Adef total_of(orders: list[Order]) -> float:
    total = 0.0
    for o|


def main() -> None:
    orders = [Order(1, 9.5, True), Order(2, 20.0, False)]
    print(total_of(unpaid(orders)))
"""


def test_a_sure_text_is_not_lost_to_unlikely_ones_in_broken_code() -> None:
    """The parser blames the loop for the fault two lines above."""
    sure, unsure = proposal("rder in orders:", -0.05), proposal("rder", -60)
    assert BUILT_IN.confidence(evidence_of(BROKEN_HEADER, unsure)) < UNSURE
    check(BROKEN_HEADER, [sure, unsure], ["rder in orders:"])


def test_an_unsure_text_that_leaves_a_fault_is_not_offered() -> None:
    sure, unsure = proposal("a = 1", -0.1), proposal("b = 2", -60)
    broken = "x = = (\n|\n"
    assert BUILT_IN.confidence(evidence_of(broken, unsure)) < UNSURE
    check(broken, [sure, unsure], ["a = 1"])
    check("x = 1\n|\n", [unsure], ["b = 2"])
    repairing = proposal("b + 2)", -60)
    check("x = (\n|\n", [repairing], ["b + 2)"])
    check("| ~ text", [unsure], ["b = 2"], language="klingon")


@pytest.mark.parametrize(
    ("language", "marked", "texts", "expected"),
    [
        ("lua", "|\n", ["return a + b", "return a+b", "return (a + b)", "return a + b;"], ["return a + b"]),
        ("python", "x = |\n", ["'a'", '"a"', "a", "b"], ["'a'", "b"]),
        ("python", "x = |\n", ["f(a)", "f(a", "f[a]", "f(b)"], ["f(a)", "f(b)"]),
        ("python", "x = |\n", ["[]", "{}", "()", "''", '""'], ["[]", "{}", "()", "''"]),
        ("go", "func f() string {\n\treturn |\n}\n", ['"f"', "f()", '"g"'], ['"f"', '"g"']),
    ],
)
def test_candidates_are_different_ideas(language: str, marked: str, texts: list[str], expected: list[str]) -> None:
    proposals = [proposal(text, -0.5 - number / 20) for number, text in enumerate(texts)]
    check(marked, proposals, expected, language)


def test_a_text_far_behind_the_best_is_no_alternative() -> None:
    best, near, far = ranked("x = |\n", proposal("a", -0.1)), proposal("b", -1.0), proposal("c", -60)
    assert best[0].confidence * LEAST_OF_BEST > ranked("x = |\n", far)[0].confidence
    check("x = |\n", [proposal("a", -0.1), near, far], ["a", "b"])


def test_every_text_that_is_removed_is_told_with_the_step_that_removed_it() -> None:
    texts = {"a": "", "b": "first_few", "f b": "least_broken", "f(": "block_end", "( a )": "different", "  ": "blank"}
    texts |= {"q, q, q, q, q, q, q": "repetition", "z": "near_the_best"}
    worth = {"a": -0.1, "b": -0.3, "z": -60.0}
    found = ranking("x = |\n", *(proposal(text, worth.get(text, -0.2)) for text in texts), candidates=1)
    assert [one.text for one in found.candidates] == ["a"]
    assert {one.text: one.step for one in found.removed} == {text: step for text, step in texts.items() if step}
    assert all((one.confidence is None) == (one.step in ("blank", "block_end", "repetition")) for one in found.removed)


def test_rather_a_text_of_doubtful_taste_than_none() -> None:
    """It keeps the document sound, but it is never sure enough to appear unasked."""
    (found,) = ranked("foo(a)\n|\n", proposal("foo(a)"))
    assert (found.text, found.confidence) == ("foo(a)", 0.0)
    check("foo(a)\n|\n", [proposal("foo(a)"), proposal("foo(b)", -9)], ["foo(b)"])
    check("foo(a\n|\n", [proposal("foo(a")], [])  # it leaves a fault
    check("x = 1 |\n", [proposal("#")], [])  # it would hide the rest of the line


def test_a_php_file_without_code_is_html() -> None:
    whole, cut = proposal("<li>Two</li>", -0.5), proposal("<li>Two</li", -0.1)
    check("<ul>\n  <li>One</li>\n  |\n</ul>\n", [whole, cut], ["<li>Two</li>"], "php")


def test_what_the_file_leaves_no_choice_of_comes_first() -> None:
    named = proposal("db", -6, draft=Draft("db", sure=0.9), source=Source.RETRIEVAL)
    first, *_ = ranked("x = foo(|)\n", proposal("cache", -1.5), named)
    assert (first.text, first.confidence) == ("db", 0.9)


def test_ways_to_write_a_text_add_up() -> None:
    wide, narrow = proposal("a,  b", logprob=-1.0), proposal("a, b", logprob=-1.2)
    apart = ranked("x = foo(|)\n", narrow, proposal("c", logprob=-1.0))[-1].confidence
    together = ranked("x = foo(|)\n", narrow, wide, proposal("c", logprob=-1.0))
    assert together[0].confidence > apart
    copied = replace(narrow, source=Source.RETRIEVAL, draft=Draft("a, b"))
    hole, request = hole_at("x = foo(", ")\n", "python"), InfillRequest("x = foo(", ")\n", "python")
    assert evidence([narrow, copied], request, hole)[0][1].logprob == narrow.logprob


@pytest.mark.parametrize(
    ("language", "marked", "empty", "full"),
    [
        ("go", "func f() error {\n\t|\n\treturn nil\n}\n", "if err != nil {", "if err != nil {\n\t\treturn err\n\t}"),
        ("javascript", "function f() {\n  |\n}\n", "for (const a of b) {", "for (const a of b) {\n    c(a);\n  }"),
        ("lua", "function f()\n  |\nend\n", "if a then", "if a then\n    b()\n  end"),
    ],
)
def test_a_block_with_a_body_takes_the_place_of_an_empty_one(language: str, marked: str, empty: str, full: str) -> None:
    prefix, _, suffix = marked.partition("|")
    hole = replace(hole_at(prefix, suffix, language), max_lines=4)
    request = InfillRequest(prefix, suffix, language, hole)
    (alone,) = rank([proposal(empty)], request, hole).candidates
    (found,) = rank([proposal(empty), proposal(full, -2)], request, hole).candidates
    assert (found.text, found.confidence) == (full, alone.confidence)
