"""Copies and analogies together."""

from infill_engine.context.drafts import find_drafts
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
