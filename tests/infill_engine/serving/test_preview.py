"""The canvas as it is told to somebody who watches; here a script of bytes decides it, with a draft beside."""

from dataclasses import replace

from local_engine import engine_of

from infill_engine.budget.deadline import Deadline
from infill_engine.sampling.scripted import Script
from infill_engine.serving.preview import PreviewRows, previewing
from infill_engine.serving.protocol import PreviewRow
from infill_engine.types import Draft, InfillRequest, Source
from tests.scripted_canvas import ScriptedModel

ASKED = InfillRequest("total = add(", ")\n", drafts=(Draft("première", 12),), candidates=2)


def watched(request: InfillRequest, wanted: object = lambda: True) -> list[tuple[int, PreviewRows]]:
    family = ScriptedModel(Script((("add(", ("zero", "première")),), steps=2))
    family.info = replace(family.info, branches=True)  # so that drafts are worth a row
    seen: list[tuple[int, PreviewRows]] = []
    engine = engine_of(family, "scripted")
    engine.answer(request, Deadline.after_ms(60_000), previewing(wanted, lambda *shown: seen.append(shown)))
    return seen


def text(row: PreviewRow) -> str:
    return "".join(row.texts)


def test_every_step_is_told() -> None:
    seen = watched(ASKED)
    assert [number for number, _ in seen] == list(range(1, len(seen) + 1))
    (_, before), (_, after) = seen[0], seen[-1]
    assert {state for row in before for state in row.states} == {"open", "committed"}
    assert {state for row in after for state in row.states} == {"committed"}
    assert all(len(row.texts) == len(row.states) == len(row.confidences) for _, rows in seen for row in rows)
    assert all(0 <= value <= 1 for _, rows in seen for row in rows for value in row.confidences)


def test_a_draft_is_there_from_the_start_and_known_as_one() -> None:
    seen = watched(ASKED)
    for _, rows in seen:
        (draft,) = (row for row in rows if row.source is Source.RETRIEVAL)
        assert text(draft) == "première"  # the è lies in two slots
    assert "zero" in [text(row) for row in seen[-1][1]]


def test_an_open_slot_shows_what_would_be_said_there() -> None:
    _, rows = watched(ASKED)[0]
    row = next(row for row in rows if "open" in row.states)
    assert text(row) in ("zero", "première")


def test_nobody_is_told_who_does_not_want_to_know() -> None:
    assert watched(ASKED, lambda: False) == []
    turns = iter([False, True, True, True, True, True, True])
    assert [number for number, _ in watched(ASKED, lambda: next(turns))][:1] == [2]
