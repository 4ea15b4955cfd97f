"""What followed the same tokens elsewhere in a text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infill_engine.context.ngrams import COUNTED, LEAST, LONGEST, Ngrams


def tokens(*ids: int) -> np.ndarray:
    return np.array(ids, dtype=np.int64)


def longest(texts: list[list[int]], context: list[int]) -> list[int]:
    return sorted(Ngrams([tokens(*text) for text in texts]).longest(context).tolist())


@pytest.mark.parametrize("context", [[], [9], [1, 9], [9, 9, 9]])
def test_nothing_follows_what_was_never_seen(context: list[int]) -> None:
    assert longest([[1, 2, 3]], context) == []


def test_one_token_alone_says_nothing() -> None:
    assert LEAST == 2
    assert longest([[1, 2, 3]], [9, 2]) == []


def test_what_followed_is_repeated_as_often_as_it_did() -> None:
    assert longest([[1, 2, 3, 1, 2, 3], [1, 2, 4]], [1, 2]) == [3, 3, 4]


def test_a_longer_context_says_more() -> None:
    texts = [[7, 1, 2, 3], [8, 1, 2, 4]]
    assert longest(texts, [1, 2]) == [3, 4]
    assert longest(texts, [7, 1, 2]) == [3]
    assert longest(texts, [8, 1, 2]) == [4]


def test_nothing_follows_from_one_text_to_the_next() -> None:
    assert longest([[1, 2], [3]], [1, 2]) == []
    assert longest([[5, 1], [2, 3]], [1, 2]) == []
    assert longest([[], [1, 2, 3], []], [1, 2]) == [3]


IDS = st.lists(st.integers(0, 4), max_size=30)


@given(texts=st.lists(IDS, min_size=1, max_size=3), context=IDS)
def test_it_is_what_a_search_finds(texts: list[list[int]], context: list[int]) -> None:
    expected: list[int] = []
    for length in range(LEAST, min(LONGEST, len(context)) + 1):
        suffix = context[-length:]
        found = [
            text[at + length] for text in texts for at in range(len(text) - length) if text[at : at + length] == suffix
        ]
        if not found:
            break
        expected = sorted(found)
    assert longest(texts, context) == expected


def test_of_what_stands_everywhere_a_fair_sample_is_counted() -> None:
    counts = Ngrams([np.tile(tokens(5, 6, 5, 6, 5, 7), 100_000)])
    assert 0 < len(counts.longest([6, 5, 6, 5])) <= COUNTED
    assert np.mean(counts.longest([5, 6, 5]) == 6) == pytest.approx(0.5, abs=0.05)
    assert np.mean(counts.longest([7, 5, 6, 5]) == 6) == pytest.approx(1, abs=0.02)
