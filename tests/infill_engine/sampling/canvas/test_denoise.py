"""The loop on a scripted family: what it commits, when it stops, what it never touches."""

from collections.abc import Callable

import numpy as np
import pytest
from jobs import states

from infill_engine.budget.deadline import Deadline, FinishMargin
from infill_engine.budget.work import Budget, Costs, Phase, finished
from infill_engine.models.canvas.canvas import SlotState, lay_out
from infill_engine.sampling.canvas import orders
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import DenoisingTask, Row, Step, denoise
from infill_engine.sampling.canvas.plan import affordable, canvas_of, plan_rows
from infill_engine.sampling.canvas.read_canvas import proposals_of
from infill_engine.sampling.scripted import Script
from infill_engine.types import Draft, Hole, HoleKind, Source
from tests.scripted_canvas import EOS, MASK, ScriptedModel

LINE = Hole(HoleKind.LINE)


@pytest.fixture(autouse=True)
def _more_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "MAX_STEPS", 8)


RESERVE_MS = 10.0


class Clock:
    """A clock that tests move by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Slow(ScriptedModel):
    """A scripted family whose steps take time on a test's clock, and which counts them."""

    def __init__(self, script: Script, clock: Clock, step_ms: float) -> None:
        super().__init__(script)
        self.clock, self.step_ms, self.asked = clock, step_ms, 0

    def denoise(self, *arguments: object) -> object:  # type: ignore[override]
        self.asked += 1
        self.clock.now += self.step_ms / 1000
        return super().denoise(*arguments)  # type: ignore[arg-type]


def run(
    texts: tuple[str, ...],
    *,
    steps: int = 1,
    step_ms: float = 1.0,
    budget_ms: float = 1e6,
    rows: list[Row] | None = None,
    partial_word: str = "",
    cancelled: Callable[[Slow], bool] = lambda _: False,
) -> tuple[list[str], Step | None, Slow]:
    clock = Clock()
    family = Slow(Script((("", texts),), steps=steps), clock, step_ms)
    context = finished(family.encode("", ""))
    planned = rows or plan_rows(family, family.propose_lengths(context, LINE.kind, 8), (), "", 8, 24)
    canvas = canvas_of(planned, MASK)
    costs = Costs()
    costs.observe(Phase.PASS, canvas.slots, step_ms)
    deadline = Deadline(budget_ms / 1000, clock, lambda: cancelled(family))
    rules, budget = (
        constraints_for(family, LINE, canvas, partial_word),
        Budget(deadline, costs, FinishMargin(RESERVE_MS)),
    )
    last = budget.run(denoise(family, DenoisingTask(context, canvas, planned, rules), budget.costs))
    proposals = proposals_of(family, last, planned, partial_word) if last else []
    return [proposal.text + ("…" if proposal.partial else "") for proposal in proposals], last, family


def test_every_row_comes_to_its_text() -> None:
    assert run(("alpha(1)", "beta", "grüße = '🎉'"))[0] == ["alpha(1)", "beta", "grüße = '🎉'"]


def test_what_is_sure_at_once_takes_one_step() -> None:
    assert run(("alpha(1)",), steps=1)[2].asked == 1
    assert run(("alpha(1)",), steps=3)[2].asked == 3


def test_no_step_starts_that_cannot_finish() -> None:
    texts, last, family = run(("alpha",), step_ms=50, budget_ms=55)
    assert (texts, last, family.asked) == ([], None, 0)


def test_the_last_affordable_step_decides_everything() -> None:
    texts, last, family = run(("abcdefghijklmnop",), steps=8, step_ms=40, budget_ms=100)
    assert family.asked == 2
    assert last is not None
    assert (last.canvas.state != SlotState.OPEN).all()
    assert texts == ["abcdefghijklmnop"]


def test_cancelling_stops_between_two_steps() -> None:
    _, last, family = run(("abcdefghijklmnop",), steps=8, cancelled=lambda family: family.asked >= 2)
    assert family.asked == 2
    assert last is not None
    assert (last.canvas.state == SlotState.OPEN).any()


def test_an_unfinished_row_counts_up_to_its_first_doubtful_slot() -> None:
    def check(reveal: float, expected: list[str]) -> None:
        _, last, family = run(("abcdefgh",), steps=8, cancelled=lambda family: family.asked >= 2)
        assert last is not None
        last.predicted_logprob[:] = np.log(reveal)
        proposals = proposals_of(family, last, [Row(9)], "")
        assert [(g.text, g.partial) for g in proposals] == [(text, reveal < 0.5) for text in expected]

    check(0.9, ["abcdefgh"])
    check(0.1, ["abcdef"])


def test_a_line_holds_no_line_break() -> None:
    assert "\n" not in "".join(run(("ab\ncd",))[0])


def test_a_draft_the_model_agrees_with_stays() -> None:
    row = Row(6, tokens=(*b"alpha", EOS), draft=Draft("alpha", 9))
    texts, last, _ = run(("alpha",), rows=[row])
    assert texts == ["alpha"]
    assert last is not None
    assert last.number == 1


def test_a_draft_the_model_doubts_is_corrected() -> None:
    row = Row(6, tokens=(*b"alfha", EOS), draft=Draft("alfha", 9))
    assert run(("alpha",), rows=[row])[0] == ["alpha"]


@pytest.mark.parametrize(("partial", "expected"), [("al", ["pha"]), ("a", ["lpha"]), ("zz", ["pha"])])
def test_the_text_continues_the_word_at_the_cursor(partial: str, expected: list[str]) -> None:
    assert run(("alpha",), partial_word=partial)[0] == expected


def test_given_slots_never_change() -> None:
    clock = Clock()
    family = Slow(Script((("", ("abcdef",)),), steps=6), clock, 1)
    canvas = canvas_of([Row(7)], MASK)
    canvas.ids[2], canvas.state[2] = ord("Z"), SlotState.FIXED
    rules = constraints_for(family, LINE, canvas, "")
    context = finished(family.encode("", ""))
    steps = states(denoise(family, DenoisingTask(context, canvas, [Row(7)], rules), Costs()))
    assert all(step.canvas.ids[2] == ord("Z") and step.canvas.state[2] == SlotState.FIXED for step in steps)


def test_a_canvas_too_wide_for_the_budget_is_narrowed() -> None:
    costs = Costs()
    costs.observe(Phase.PASS, 96, 80)
    rows = [Row(24)] * 4
    family = ScriptedModel(Script())
    context = finished(family.encode("", ""))

    def rows_in(budget_ms: float) -> int:
        budget = Budget(Deadline(budget_ms / 1000, Clock()), costs, FinishMargin(0.0))
        return len(budget.run(affordable(family, context, rows, costs)))

    assert rows_in(1000) == 4
    assert 1 <= rows_in(140) < 4
    assert rows_in(0) == 1


def test_drafts_come_right_after_the_best_length() -> None:
    family = ScriptedModel(Script((("", ("a",)),)))
    lengths = family.propose_lengths(finished(family.encode("", "")), LINE.kind, 4)
    branching = type("Branching", (ScriptedModel,), {})(family.script)
    branching.info = type(family.info)("scripted", 258, MASK, EOS, 512)
    rows = plan_rows(branching, lengths, (Draft("copied", 8),), "", 4, 24)
    assert [row.draft.text if row.draft else "model" for row in rows][:2] == ["model", "copied"]
    assert Source.RETRIEVAL in {Source.RETRIEVAL if row.draft else Source.MODEL for row in rows}


def test_a_slot_waits_for_the_one_before_it_in_its_own_row_alone() -> None:
    family = ScriptedModel(Script(rules=(("", ("text",)),)))
    canvas = lay_out([[MASK] * 2, [MASK] * 2], 0)
    rules = constraints_for(family, Hole(HoleKind.LINE, 1), canvas, "")
    rules.starts = {0: b"a", 1: b"b"}
    assert [rules.waits(canvas, position) for position in range(4)] == [False, True, False, False]
