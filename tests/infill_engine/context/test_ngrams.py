"""Counts of the text around the hole, and what they make of a network's probabilities."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infill_engine.context.ngrams import COUNTED, DOUBT, LEAST, Ngrams

EXPECTED = log(0.1)


def tokens(*ids: int) -> np.ndarray:
    return np.array(ids, dtype=np.int64)


def probability(texts: list[list[int]], context: list[int], *wanted: int, expected: float = 0.1) -> float:
    return exp(Ngrams([tokens(*text) for text in texts]).logprob(context, {*wanted}, log(expected)))


@pytest.mark.parametrize("context", [[], [9], [1, 9], [9, 9, 9]])
def test_what_was_never_seen_is_as_the_network_says(context: list[int]) -> None:
    assert probability([[1, 2, 3]], context, 3) == pytest.approx(0.1)


def test_one_token_alone_says_nothing() -> None:
    assert LEAST == 2
    assert probability([[1, 2, 3]], [9, 2], 3) == pytest.approx(0.1)


def test_counts_correct_the_network() -> None:
    """Behind 1 2 stood 3 twice and 4 once: three times something, two different ones."""
    texts = [[1, 2, 3, 1, 2, 3], [1, 2, 4]]
    assert probability(texts, [1, 2], 3) == pytest.approx((2 + DOUBT * 2 * 0.1) / (3 + DOUBT * 2))
    assert probability(texts, [1, 2], 5) == pytest.approx((DOUBT * 2 * 0.1) / (3 + DOUBT * 2))
    assert probability(texts, [1, 2], 3, 4, expected=0.2) == pytest.approx((3 + DOUBT * 2 * 0.2) / (3 + DOUBT * 2))


def test_a_longer_context_says_more() -> None:
    texts = [[7, 1, 2, 3], [8, 1, 2, 4]]
    shorter = (1 + DOUBT * 2 * 0.1) / (2 + DOUBT * 2)
    assert probability(texts, [1, 2], 3) == pytest.approx(shorter)
    assert probability(texts, [7, 1, 2], 3) == pytest.approx((1 + DOUBT * shorter) / (1 + DOUBT))
    assert probability(texts, [8, 1, 2], 3) == pytest.approx(DOUBT * shorter / (1 + DOUBT))


def test_nothing_follows_from_one_text_to_the_next() -> None:
    assert probability([[1, 2], [3]], [1, 2], 3) == pytest.approx(0.1)
    assert probability([[5, 1], [2, 3]], [1, 2], 3) == pytest.approx(0.1)
    assert probability([[], [1, 2, 3], []], [1, 2], 3) > 0.2


IDS = st.lists(st.integers(0, 4), max_size=30)


@given(texts=st.lists(IDS, min_size=1, max_size=3), context=IDS)
def test_the_probabilities_of_all_tokens_stay_one(texts: list[list[int]], context: list[int]) -> None:
    counts = Ngrams([tokens(*text) for text in texts])
    whole = sum(exp(counts.logprob(context, {token}, log(0.2))) for token in range(5))
    assert whole == pytest.approx(1.0)


@given(texts=st.lists(IDS, min_size=1, max_size=3), context=IDS)
def test_all_tokens_at_once_are_as_each_by_itself(texts: list[list[int]], context: list[int]) -> None:
    counts = Ngrams([tokens(*text) for text in texts], doubt=7.0)
    probabilities = np.full(5, 0.2, dtype=np.float32)
    expected = [exp(counts.logprob(context, {token}, log(0.2))) for token in range(5)]
    counts.correct(context, probabilities)
    assert probabilities.tolist() == pytest.approx(expected, rel=1e-5)


def test_the_more_it_is_doubted_the_less_it_says() -> None:
    believed, doubted = (
        exp(Ngrams([tokens(1, 2, 3)], doubt).logprob([1, 2], {3}, EXPECTED)) for doubt in (DOUBT, 20.0)
    )
    assert 0.1 < doubted < believed


def test_of_what_stands_everywhere_a_fair_sample_is_counted() -> None:
    table = np.tile(tokens(5, 6, 5, 6, 5, 7), 100_000)
    counts = Ngrams([table])
    assert 0 < max(len(following) for following in counts._following([6, 5, 6, 5])) <= COUNTED
    assert exp(counts.logprob([5, 6, 5], {6}, log(0.1))) == pytest.approx(0.5, abs=0.05)
    assert exp(counts.logprob([7, 5, 6, 5], {6}, log(0.1))) == pytest.approx(1, abs=0.02)
