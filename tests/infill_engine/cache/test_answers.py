from dataclasses import replace

import numpy as np
import pytest

from infill_engine.cache.answers import AnswerCache
from infill_engine.cache.streams import StreamCache, shared_length
from infill_engine.types import Answer, Candidate, InfillRequest

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
    found = cache.get(request_)
    assert (found and [candidate.text for candidate in found.candidates]) == expected


def test_what_lies_beyond_the_windows_is_not_kept() -> None:
    cache = AnswerCache(8)
    cache.put(replace(ANSWERED, beyond=("a" * 1000, "")), ANSWER)
    assert cache.get(replace(ANSWERED, beyond=("b", "c"))) == replace(ANSWER, cached=True)
    assert cache.get(InfillRequest("x = al", "\n", beyond=("b", "c"))) is not None
    assert [request.beyond for request in cache._answers] == [("", "")] * 2


def test_the_rest_stays_the_same_when_asked_again() -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, ANSWER)
    typed = InfillRequest("x = al", "\n")
    first = cache.get(typed)
    cache.put(InfillRequest("x = a", "\n"), Answer((Candidate("lbatross", 0.9),)))
    again = cache.get(typed)
    assert first is not None
    assert again is not None
    assert first.candidates == again.candidates


def test_an_answer_that_is_not_final_may_only_be_typed_into() -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, ANSWER, final=False)
    assert cache.get(ANSWERED) is None
    found = cache.get(InfillRequest("x = al", "\n"))
    assert found is not None
    assert [candidate.text for candidate in found.candidates] == ["pha(1)", "ps"]


def test_asking_in_vain_does_not_keep_old_answers_alive() -> None:
    """What was used last is kept longest, and a request that finds nothing uses nothing."""
    cache = AnswerCache(2)
    one, other = InfillRequest("one = ", "\n"), InfillRequest("other = ", "\n")
    cache.put(one, ANSWER)
    cache.put(other, ANSWER)
    assert cache.get(one) is not None
    assert cache.get(InfillRequest("in vain", "\n")) is None
    cache.put(ANSWERED, ANSWER)
    assert cache.get(one) is not None
    assert cache.get(other) is None


def test_the_newest_answer_is_typed_through_first() -> None:
    cache = AnswerCache(8)
    cache.put(ANSWERED, ANSWER)
    cache.put(InfillRequest("x = a", "\n"), Answer((Candidate("lbatross", 0.9),)))
    found = cache.get(InfillRequest("x = al", "\n"))
    assert found is not None
    assert [candidate.text for candidate in found.candidates] == ["batross"]


def ids(text: str) -> np.ndarray:
    return np.array([ord(letter) for letter in text], dtype=np.int64)


@pytest.mark.parametrize(
    ("asked", "expected"), [("abcdef", ("one", 6)), ("abcxyz", ("one", 3)), ("qrs", ("two", 3)), ("zzz", (None, 0))]
)
def test_the_nearest_stream(asked: str, expected: tuple[str | None, int]) -> None:
    cache = StreamCache[str](4)
    cache.put(ids("abcdef"), "one")
    cache.put(ids("qrstuv"), "two")
    assert cache.nearest(ids(asked)) == expected


def test_a_stream_replaces_the_one_it_continues() -> None:
    cache = StreamCache[str](2)
    cache.put(ids("other file"), "other")
    for length in range(4, 9):
        cache.put(ids("abcdefghi"[:length]), "typed")
    assert cache.nearest(ids("other"))[0] == "other"


@pytest.mark.parametrize(("one", "other", "length"), [("", "", 0), ("a", "", 0), ("ab", "abc", 2), ("abx", "aby", 2)])
def test_shared_length(one: str, other: str, length: int) -> None:
    assert shared_length(ids(one), ids(other)) == length
