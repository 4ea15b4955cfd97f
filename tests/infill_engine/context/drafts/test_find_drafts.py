"""Copies and analogies together."""

from hypothesis import given
from hypothesis import strategies as st

from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.types import Draft, Hole, HoleKind


def test_copies_and_analogies_take_turns() -> None:
    before = "value.first(x)\nvalue.first(x)\nvalue.first(y)\ncolour.last(colour)\nheight.first("
    texts = [draft.text for draft in find_drafts(before, "", (before, ""), Hole(HoleKind.LINE))]
    assert texts[0] == "x)"
    assert "height)" in texts


def test_what_both_find_is_one_draft() -> None:
    before = "width = grow(1)\nheight = "
    found = find_drafts(before, "", (before, "", "height = grow(1)\n"), Hole(HoleKind.LINE))
    assert found == (Draft("grow(1)", copied=9, analogous=9, share=1.0),)


PIECES = st.sampled_from(["a", "b1", "self", " = ", ".", "(", ")", "\n", "\r\n", "\r", "  ", "'", "é", "😀", "_x", "1"])
TEXTS = st.lists(PIECES, max_size=40).map("".join)
HOLES = [Hole(HoleKind.LINE), Hole(HoleKind.EXPRESSION, closers=")"), Hole(HoleKind.BLOCK, 3, "    ")]


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(HOLES))
def test_any_text_has_distinct_drafts_that_are_something(prefix: str, suffix: str, other: str, hole: Hole) -> None:
    found = find_drafts(prefix, suffix, (prefix, suffix, other), hole)
    texts = [draft.text.strip() for draft in found]
    assert all(texts)
    assert len(set(texts)) == len(texts)
    assert all(draft.copied or draft.analogous for draft in found)
    assert all(0 < draft.share <= 1.0001 for draft in found)
    assert found == find_drafts(prefix, suffix, (prefix, suffix, other), hole)
