"""What the newest edits leave to the completion of the line and to the model."""

from dataclasses import replace

import pytest

from infill_engine.edits.types import Consequences, Edit, EditedText, Kind, MayAsk, NoEditReason, Proposal, Span
from lsp_server.suggestions.next_edits.exact import exact
from lsp_server.suggestions.next_edits.refusals import Refusals, key_of
from lsp_server.suggestions.next_edits.shown import Shown

MODEL, LINE, NOBODY = (Consequences(may_ask=each) for each in (MayAsk.MODEL, MayAsk.LINE, MayAsk.NOBODY))
EXAMPLE = Proposal((Edit(Span(0, 1, "a"), "b"),), "example", 0.9, Kind.SIMILAR_PLACE)
RENAME = replace(EXAMPLE, label="rename", kind=Kind.RENAME)


def found(*by_text: Consequences, refusals: Refusals | None = None) -> tuple[Consequences, int]:
    """Return what follows from texts that each have these consequences, the newest first, and how many were read."""
    left = list(by_text)
    texts = [EditedText("a", "b", (), "python")] * len(by_text)
    return exact(texts, refusals or Refusals(), lambda _edited, _stop: left.pop(0)), len(by_text) - len(left)


@pytest.mark.parametrize(
    ("by_text", "may_ask"),
    [
        ([], MayAsk.NOBODY),
        ([MODEL], MayAsk.MODEL),
        ([MODEL, LINE], MayAsk.MODEL),
        ([MODEL, NOBODY], MayAsk.MODEL),
        ([LINE], MayAsk.LINE),
        ([LINE, MODEL], MayAsk.NOBODY),
        ([NOBODY, LINE], MayAsk.LINE),
        ([NOBODY, MODEL], MayAsk.NOBODY),
    ],
)
def test_the_newest_edit_says_whether_the_model_is_asked(by_text: list[Consequences], may_ask: MayAsk) -> None:
    assert found(*by_text)[0].may_ask is may_ask


def test_the_search_ends_at_what_comes_first() -> None:
    rename, example = Consequences((RENAME,)), Consequences((EXAMPLE,))
    assert found(rename, example) == (rename, 1)
    assert found(example, rename) == (rename, 2)
    assert found(example, MODEL) == (example, 2)


def test_what_the_user_dismissed_is_not_asked_of_the_model() -> None:
    refusals = Refusals(frozenset([key_of(RENAME)]))
    answer = found(Consequences((RENAME,)), refusals=refusals)[0]
    assert (answer.proposals, answer.reason, answer.may_ask) == ((), NoEditReason.DISMISSED, MayAsk.NOBODY)


def test_refusals_stay_as_they_were_when_the_search_began() -> None:
    shown = Shown()
    shown.show([RENAME], "1-")
    refusals = shown.refusals()
    shown.dismiss(None)
    assert (refusals.allowed([RENAME]), shown.allowed([RENAME])) == ([RENAME], [])
