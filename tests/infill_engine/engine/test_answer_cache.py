from dataclasses import replace

import pytest

from infill_engine.engine.answer_cache import AnswerCache
from infill_engine.types import Answer, Candidate, InfillRequest, Source

SEEN = 0.1  # the least confidence at which candidates are shown
ANSWERED = InfillRequest("x = ", "\n")
ANSWER = Answer((Candidate("alpha(1)", 0.5), Candidate("alps", 0.3), Candidate("beta", 0.2)))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (InfillRequest("x = ", "\n"), ["alpha(1)", "alps", "beta"]),
        (InfillRequest("x = al", "\n"), ["pha(1)", "ps"]),
        (InfillRequest("x = alpha(1)", "\n"), None),
        (InfillRequest("x = z", "\n"), None),
        (InfillRequest("x =", "\n"), None),
        (InfillRequest("y = al", "\n"), None),
        (InfillRequest("x = al", ")\n"), None),
        (InfillRequest("x = al", "\n", language="go"), None),
        (InfillRequest("x = al", "\n", candidates=2), None),
    ],
)
def test_what_is_left_of_an_answer(request_: InfillRequest, expected: list[str] | None) -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, ANSWER)
    found = cache.get(request_, SEEN)
    assert (found and [candidate.text for candidate in found.candidates]) == expected


def test_what_was_too_short_to_be_shown_has_not_been_typed_through() -> None:
    cache = AnswerCache(8)
    cache.put(InfillRequest("return a +", "\n"), Answer((Candidate(" b", 0.9), Candidate(" count", 0.8))))
    left = cache.get(InfillRequest("return a + ", "\n"), SEEN)
    assert left is not None
    assert [(one.text, one.source) for one in left.candidates] == [("b", Source.MODEL), ("count", Source.TYPED_THROUGH)]


def test_a_line_break_that_was_typed_is_the_documents_own() -> None:
    cache = AnswerCache(8)
    request = InfillRequest("if a:\r\n    b()\r\nelse", "\r\n")
    cache.put(request, Answer((Candidate(":\n    c()", 0.5),)))
    left = cache.get(replace(request, prefix=f"{request.prefix}:\r\n    "), SEEN)
    assert left is not None
    assert [candidate.text for candidate in left.candidates] == ["c()"]


def test_what_lies_beyond_the_windows_is_not_kept() -> None:
    cache = AnswerCache(8)
    cache.put(replace(ANSWERED, wider_context=("a" * 1000, "")), ANSWER)
    assert cache.get(replace(ANSWERED, wider_context=("b", "c")), SEEN) == replace(ANSWER, cached=True)
    assert cache.get(InfillRequest("x = al", "\n", wider_context=("b", "c")), SEEN) is not None
    assert [request.wider_context for request in cache._answers] == [("", "")] * 2


def test_the_rest_stays_the_same_when_asked_again() -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, ANSWER)
    typed = InfillRequest("x = al", "\n")
    first = cache.get(typed, SEEN)
    cache.put(InfillRequest("x = a", "\n"), Answer((Candidate("lbatross", 0.9),)))
    again = cache.get(typed, SEEN)
    assert first is not None
    assert again is not None
    assert first.candidates == again.candidates


def test_what_was_too_unsure_to_be_shown_is_not_typed_into() -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, ANSWER)
    assert cache.get(InfillRequest("x = b", "\n"), 0.2) is not None
    assert cache.get(InfillRequest("x = be", "\n"), 0.21) is None  # of the three only this one is left
    assert cache.get(InfillRequest("x = al", "\n"), 0.4) is not None
    assert cache.get(ANSWERED, 0.9) is not None


def test_an_answer_that_is_not_final_may_only_be_typed_into() -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, replace(ANSWER, final=False))
    assert cache.get(ANSWERED, SEEN) is None
    found = cache.get(InfillRequest("x = al", "\n"), SEEN)
    assert found is not None
    assert [candidate.text for candidate in found.candidates] == ["pha(1)", "ps"]


def test_asking_in_vain_does_not_keep_old_answers_alive() -> None:
    """What was used last is kept longest, and a request that finds nothing uses nothing."""
    cache = AnswerCache(2)
    one, other = InfillRequest("one = ", "\n"), InfillRequest("other = ", "\n")
    cache.put(one, ANSWER)
    cache.put(other, ANSWER)
    assert cache.get(one, SEEN) is not None
    assert cache.get(InfillRequest("in vain", "\n"), SEEN) is None
    cache.put(ANSWERED, ANSWER)
    assert cache.get(one, SEEN) is not None
    assert cache.get(other, SEEN) is None


def test_the_newest_answer_is_typed_through_first() -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, ANSWER)
    cache.put(InfillRequest("x = a", "\n"), Answer((Candidate("lbatross", 0.9),)))
    found = cache.get(InfillRequest("x = al", "\n"), SEEN)
    assert found is not None
    assert [candidate.text for candidate in found.candidates] == ["batross"]


@pytest.mark.parametrize("prefix", ["x = ", "x = al"])
def test_an_explicit_request_gets_nothing_that_was_cut_short(prefix: str) -> None:
    cache, cut_short = AnswerCache(8), replace(ANSWER, cut_short=True)
    cache.put(ANSWERED, cut_short)
    asked = InfillRequest(prefix, "\n")
    assert cache.get(replace(asked, explicit=True), SEEN) is None
    assert cache.get(asked, SEEN) is not None
    assert cache.get(replace(asked, explicit=True), SEEN) is None  # nor after the rest was kept
    cache.put(asked, ANSWER)
    assert cache.get(replace(asked, explicit=True), SEEN) is not None
