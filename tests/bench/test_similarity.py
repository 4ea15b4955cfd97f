"""What counts as equal, and the edit distance against its definition."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.similarity import edit_similarity, levenshtein
from infill_engine.diagnostics.benchmark.problems.judging import is_exact


def slow_levenshtein(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for number, left in enumerate(one, 1):
        before, row[0] = row[0], number
        for column, right in enumerate(other, 1):
            before, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, before + (left != right))
    return row[-1]


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("", "", 0),
        ("abc", "", 3),
        ("kitten", "sitting", 3),
        ("flaw", "lawn", 2),
        ("a" * 80, "b" * 80, 80),
        ("é😀", "e😀", 1),
    ],
)
def test_levenshtein(one: str, other: str, distance: int) -> None:
    assert levenshtein(one, other) == distance
    assert levenshtein(other, one) == distance


@given(st.text("ab(é", max_size=90), st.text("ab(é", max_size=90))
def test_levenshtein_agrees_with_its_definition(one: str, other: str) -> None:
    assert levenshtein(one, other) == slow_levenshtein(one, other)


@pytest.mark.parametrize(
    ("candidate", "gold", "exact"),
    [
        ("value)", "value)", True),
        ("value)  ", "value)", True),
        ("a\n    b  \n", "a  \n    b", True),
        ("a\r\nb", "a\nb", True),
        (" value", "value", False),  # what stands at its beginning counts
        ("a\n   b", "a\n    b", False),
        ("valu", "value", False),
        ("", "value", False),
    ],
)
def test_exact_match_forgives_trailing_blanks_only(candidate: str, gold: str, exact: bool) -> None:
    assert is_exact(candidate, gold) is exact


@pytest.mark.parametrize(
    ("candidate", "gold", "similarity"),
    [("abcd", "abcd", 1.0), ("", "abcd", 0.0), ("abXd", "abcd", 0.75), ("ab", "abcd", 0.5)],
)
def test_edit_similarity(candidate: str, gold: str, similarity: float) -> None:
    assert edit_similarity(candidate, gold) == pytest.approx(similarity)
