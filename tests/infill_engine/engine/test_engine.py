"""The engine on scripted models: answers, reasons and the cache."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from engines import exact_engine, never_read, returning, soon

from infill_engine import Deadline, Draft, Engine, InfillRequest, Reason, Source, load_engine
from infill_engine.budget.work import Costs, Job
from infill_engine.engine.draft_answers import answer_from_drafts
from infill_engine.errors import InputError
from infill_engine.models.base import ProposedLength
from infill_engine.ranking.calibration import BUILT_IN
from infill_engine.sampling.canvas.denoise import Step
from infill_engine.sampling.proposals import Proposals
from infill_engine.sampling.proposer import Capabilities, Proposer
from infill_engine.types import ONE_HOLE, Hole, HoleKind, Holes, ProposedText, TextRequest


def scripted(tmp_path: Path, **script: object) -> Engine:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    return load_engine(f"scripted:{path}")


RULES = [{"before": "x = ", "candidates": ["alpha(1)", "beta(2)", "gamma"]}, {"before": "nothing", "candidates": []}]


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, infill_engine, infill_engine.serving.dispatch; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_the_public_names() -> None:
    import infill_engine

    assert all(getattr(infill_engine, name) for name in infill_engine.__all__)


def test_several_candidates_in_order_of_confidence(tmp_path: Path) -> None:
    found = scripted(tmp_path, rules=RULES).infill(InfillRequest("x = ", "\n"), soon())
    assert [candidate.text for candidate in found] == ["alpha(1)", "beta(2)", "gamma"]
    assert [c.confidence for c in found] == sorted((c.confidence for c in found), reverse=True)


@pytest.mark.parametrize("wanted", [1, 2])
def test_no_more_candidates_than_asked_for(tmp_path: Path, wanted: int) -> None:
    assert len(scripted(tmp_path, rules=RULES).infill(InfillRequest("x = ", "\n", candidates=wanted), soon())) == wanted


def test_asking_for_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        scripted(tmp_path, rules=RULES).infill(InfillRequest("x = ", "\n", candidates=0), soon())


@pytest.mark.parametrize(
    ("prefix", "deadline", "reason"),
    [
        ("nothing", Deadline.after_ms(60_000), Reason.BLANK),
        ("x = ", Deadline.after_ms(0), Reason.DEADLINE),
        ("x = ", Deadline(1e12, cancelled=lambda: True), Reason.CANCELLED),
    ],
)
def test_every_silence_has_its_reason(tmp_path: Path, prefix: str, deadline: Deadline, reason: Reason) -> None:
    answer = scripted(tmp_path, rules=RULES).answer(InfillRequest(prefix, "\n"), deadline)
    assert (answer.candidates, answer.reason) == ((), reason)


def test_a_late_or_withdrawn_request_may_be_asked_again(tmp_path: Path) -> None:
    engine = scripted(tmp_path, rules=RULES)
    request = InfillRequest("x = ", "\n")
    engine.answer(request, Deadline.after_ms(0))
    engine.answer(request, Deadline(1e12, cancelled=lambda: True))
    assert engine.infill(request, soon())


def test_an_equal_request_is_answered_from_memory(tmp_path: Path) -> None:
    engine = scripted(tmp_path, rules=RULES)
    first, again = (engine.answer(InfillRequest("x = ", "\n"), soon()) for _ in range(2))
    assert first.candidates == again.candidates
    assert (first.cached, again.cached) == (False, True)


def test_an_explicit_request_goes_on_where_the_time_of_a_keystroke_ended(tmp_path: Path) -> None:
    engine = scripted(tmp_path, rules=RULES, steps=4, step_ms=30)
    typed = engine.answer(InfillRequest("x = ", "\n"), Deadline.after_ms(90))
    assert typed.cut_short
    asked = engine.answer(InfillRequest("x = ", "\n", explicit=True), soon())
    assert (asked.cached, asked.cut_short) == (False, False)
    assert asked.candidates[0].passes > max((each.passes for each in typed.candidates), default=0)
    for explicit in (False, True):
        assert engine.answer(InfillRequest("x = ", "\n", explicit=explicit), soon()).cached


def test_an_answer_that_time_cut_short_is_not_kept(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = exact_engine(model_folder)
    request = InfillRequest("x = ", "\n", drafts=(Draft("alpha(1)", 12),), candidates=40)
    with monkeypatch.context() as busy:
        busy.setattr(engine.proposer.model, "encode", never_read)
        hurried = engine.answer(request, soon())
    assert hurried.incomplete_context
    assert [candidate.passes for candidate in hurried.candidates] == [0]
    whole = engine.answer(request, soon())
    assert (whole.incomplete_context, whole.cached) == (False, False)
    assert whole.candidates[0].passes > 0
    assert engine.answer(request, soon()).cached


def test_texts_that_no_model_had_time_to_read_are_as_sure_as_while_it_loads(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = exact_engine(model_folder)
    request = InfillRequest(
        "with open(path) as file:\n    return json.load(", "\n", drafts=(Draft("file)", copied=40),)
    )
    monkeypatch.setattr(engine.proposer.model, "encode", never_read)
    assert engine.answer(request, soon()).candidates == answer_from_drafts(request).candidates != ()


def test_an_answer_without_a_single_step_is_not_kept(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = exact_engine(model_folder)
    request = InfillRequest("x = ", "\n", drafts=(Draft("alpha(1)", 12),))
    with monkeypatch.context() as busy:
        busy.setattr("infill_engine.sampling.canvas.canvas_sampler.denoise", lambda *_: returning(None))
        hurried = engine.answer(request, soon())
    assert {candidate.passes for candidate in hurried.candidates} == {0}
    whole = engine.answer(request, soon())
    assert not whole.cached
    assert max(candidate.passes for candidate in whole.candidates) > 0


@pytest.mark.parametrize("wanted", [1, 2])
def test_a_canvas_is_laid_even_where_the_likeliest_length_is_too_long(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch, wanted: int
) -> None:
    engine = exact_engine(model_folder)
    model = engine.proposer.model
    too_long = [ProposedLength(model.info.max_slots + 1, -0.1), ProposedLength(4, -2.0)]
    monkeypatch.setattr(model, "propose_lengths", lambda *_: too_long[:wanted])
    hole = Hole(HoleKind.BLOCK, max_lines=5)
    steps: list[Step] = []
    request = InfillRequest("if x:\n    ", "\n", hole=hole, drafts=(), candidates=wanted)
    engine.answer(request, soon(), lambda after: steps.append(after.state))
    assert steps


@pytest.mark.parametrize(
    ("typed", "suffix", "expected"),
    [
        ("al", "\n", ["pha(1)"]),
        ("alpha(1", "\n", [")"]),
        ("g", "\n", ["amma"]),
        ("q", "\n", []),
        ("al", "\nx", []),
    ],
)
def test_typing_through_keeps_the_rest(tmp_path: Path, typed: str, suffix: str, expected: list[str]) -> None:
    engine = scripted(tmp_path, rules=RULES)
    engine.infill(InfillRequest("x = ", "\n"), soon())
    seen: list[int] = []
    answer = engine.answer(
        InfillRequest("x = " + typed, suffix), soon(), observer=lambda _, step: seen.append(step.number)
    )
    assert [candidate.text for candidate in answer.candidates] == expected
    assert seen == []
    assert all(candidate.source is Source.TYPED_THROUGH for candidate in answer.candidates)


def test_the_canvas_can_be_watched(tmp_path: Path) -> None:
    seen: list[int] = []

    engine = scripted(tmp_path, rules=RULES, steps=3)
    engine.answer(InfillRequest("x = ", "\n"), soon(), lambda after: seen.append(after.state.number))
    assert seen == [1, 2, 3]


class CutShort(Proposer):
    """A search that time cut short inside of a call."""

    costs = Costs()
    can = Capabilities("cpu")

    def propose(
        self, request: TextRequest, hole: Hole, drafts: tuple[Draft, ...], holes: Holes = ONE_HOLE
    ) -> Job[Proposals]:
        return returning(Proposals([ProposedText("foo(a,", -0.1, -0.1, partial=True)]))


def test_a_text_cut_short_that_cannot_be_offered_is_asked_for_again() -> None:
    engine = Engine(CutShort(), "toy", BUILT_IN)
    answer = engine.answer(InfillRequest("x = ", "\n"), soon())
    assert (answer.candidates, answer.final) == ((), False)
    assert not engine.answer(InfillRequest("x = ", "\n"), soon()).cached
