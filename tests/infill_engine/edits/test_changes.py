from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from infill_engine.edits.changes import Shift, between, compose, make, trimmed
from infill_engine.edits.types import Change

TEXT = st.text("ab\n", max_size=12)
STEPS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.text("xy", max_size=3)), max_size=8)


@given(TEXT, STEPS)
def test_composed_changes_lead_to_the_text_that_each_in_turn_leads_to(text: str, steps: list[tuple[int, int, str]]):
    now, changes = text, ()
    for at, length, new in steps:
        start = min(at, len(now))
        end = min(start + length, len(now))
        changes = compose(changes, start, end, new)
        now = now[:start] + new + now[end:]
        assert make(text, changes) == now
        assert all(one.end < other.start for one, other in pairwise(changes))
    assert make(text, trimmed(text, changes)) == now


@given(TEXT, TEXT)
def test_the_change_between_two_texts_leads_from_one_to_the_other(before: str, after: str):
    changes = between(before, after)
    assert make(before, changes) == after
    assert (changes == ()) == (before == after)


def test_what_a_change_puts_back_is_no_change():
    assert trimmed("a count = 1", [Change(2, 7, "counter")]) == (Change(7, 7, "er"),)
    assert trimmed("same", [Change(0, 4, "same")]) == ()


@given(TEXT, STEPS, st.integers(0, 12), st.integers(0, 3))
def test_a_span_that_no_change_touches_has_the_same_text_afterwards(text, steps, start, length):
    now, changes = text, ()
    for at, removed, new in steps:
        first = min(at, len(now))
        last = min(first + removed, len(now))
        changes = compose(changes, first, last, new)
        now = now[:first] + new + now[last:]
    start = min(start, len(text))
    end = min(start + length, len(text))
    found = Shift(changes).span(start, end)
    if found is not None:
        assert now[found[0] : found[1]] == text[start:end]
    else:
        assert any(change.start <= end and change.end >= start for change in changes)


def test_a_span_beside_a_change_is_taken_for_the_place_being_typed():
    assert Shift([Change(3, 3, "x")]).span(0, 3) is None
    assert Shift([Change(3, 3, "x")]).span(4, 5) == (5, 6)
    assert Shift([Change(3, 5, "")]).offset(4) == 3
