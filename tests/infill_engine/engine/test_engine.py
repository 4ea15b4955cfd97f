"""The whole way of one request, with a scripted family and with a tiny real network."""

import json
import shutil
import subprocess
import sys
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import torch
from jobs import limited

from infill_engine import Deadline, Draft, Engine, InfillRequest, Reason, Source
from infill_engine.budget.work import Job, OutOfTime, Phase, finished
from infill_engine.errors import InputError
from infill_engine.models.base import Context, ModelDraft
from infill_engine.models.loading import load_canvas_model
from infill_engine.models.small.model import SmallModel
from infill_engine.models.small.network.dual_encoder import LENGTH_BUCKETS
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.canvas_sampler import OWN_DRAFTS, STEPS_BESIDE_OWN, CanvasSampler
from infill_engine.sampling.denoising.denoise import Step
from infill_engine.settings import ModelSettings
from infill_engine.types import Hole, HoleKind, Proposal, Surroundings

T = TypeVar("T")


def scripted(tmp_path: Path, **script: object) -> Engine:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(script))
    return Engine.load(f"scripted:{path}")


def soon() -> Deadline:
    return Deadline.after_ms(60_000)


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


def test_an_answer_that_time_cut_short_is_not_kept(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _exact(model_folder)
    request = InfillRequest("x = ", "\n", drafts=(Draft("alpha(1)", 12),), candidates=40)
    with monkeypatch.context() as busy:
        busy.setattr(engine.model, "encode", _unread)
        hurried = engine.answer(request, soon())
    assert hurried.unread
    assert [candidate.steps for candidate in hurried.candidates] == [0]
    whole = engine.answer(request, soon())
    assert (whole.unread, whole.cached) == (False, False)
    assert whole.candidates[0].steps > 0
    assert engine.answer(request, soon()).cached


def test_an_answer_without_a_single_step_is_not_kept(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _exact(model_folder)
    request = InfillRequest("x = ", "\n", drafts=(Draft("alpha(1)", 12),))
    with monkeypatch.context() as busy:
        busy.setattr("infill_engine.sampling.canvas_sampler.denoise", lambda *_: returning(None))
        hurried = engine.answer(request, soon())
    assert {candidate.steps for candidate in hurried.candidates} == {0}
    whole = engine.answer(request, soon())
    assert not whole.cached
    assert max(candidate.steps for candidate in whole.candidates) > 0


def test_an_answer_before_the_project_was_counted_is_not_kept(model_folder: Path) -> None:
    engine = _exact(model_folder)
    around = Surroundings.of("alpha = beta\n" * 9)
    request = InfillRequest("alpha = ", "\n", surroundings=around.name)
    assert [engine.answer(request, soon()).cached for _ in range(2)] == [False, False]
    deque(engine.surround(around), maxlen=0)
    assert [engine.answer(request, soon()).cached for _ in range(2)] == [False, True]


@pytest.mark.parametrize("wanted", [1, 2])
def test_a_canvas_is_laid_even_where_the_likeliest_length_is_too_long(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch, wanted: int
) -> None:
    engine = _exact(model_folder)
    rising = torch.arange(len(LENGTH_BUCKETS), dtype=torch.float32)
    monkeypatch.setattr(engine.model.backend.network, "length_logits", lambda *_: rising[None, None])
    lengths = engine.model.propose_lengths(finished(engine.model.encode("x = ", "")), HoleKind.BLOCK, 2)
    assert [length.slots for length in lengths] == [24, 16]
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
        InfillRequest("x = " + typed, suffix), soon(), watch=lambda _, step: seen.append(step.number)
    )
    assert [candidate.text for candidate in answer.candidates] == expected
    assert seen == []
    assert all(candidate.source is Source.TYPED_THROUGH for candidate in answer.candidates)


def test_the_canvas_can_be_watched(tmp_path: Path) -> None:
    seen: list[int] = []

    engine = scripted(tmp_path, rules=RULES, steps=3)
    engine.answer(InfillRequest("x = ", "\n"), soon(), lambda after: seen.append(after.state.number))
    assert seen == [1, 2, 3]


PLACES = [
    ("def f(a):\n    return ", "\n"),
    ("foo(", ", b)\n"),
    ("class A:\n    def ", ""),
    ("", ""),
    ("", "x = 1\n"),
    ("s = '🎉 naïve ", "'\r\nprint(s)\r\n"),
    ("a\x0cb\u2028c = ", "\r"),
    (")]}((", "{{[[\n"),
    ("\x00\ufffd", "\udc80"),
    ("if x:\n        ", "\n    y"),
    ("retur", "\n"),
    ("x" * 3000, "y" * 3000),
]


@pytest.mark.parametrize(("prefix", "suffix"), PLACES)
@pytest.mark.parametrize("language", ["python", "javascript", "no-such-language"])
def test_a_real_network_answers_anything(model_folder: Path, prefix: str, suffix: str, language: str) -> None:
    engine = _real(model_folder)
    answer = engine.answer(InfillRequest(prefix, suffix, language), soon())
    assert answer.candidates or answer.reason is not None
    assert all("<" + "mask>" not in candidate.text for candidate in answer.candidates)
    assert all(0 <= candidate.confidence <= 1 for candidate in answer.candidates)


def test_the_same_request_gives_the_same_answer_whatever_came_before(model_folder: Path) -> None:
    request = InfillRequest("def f(a):\n    return ", "\n\nprint(f(1))\n")
    cold = _exact(model_folder).infill(request, soon())
    warm = _exact(model_folder)
    warm.infill(InfillRequest("import os\n", ""), soon())
    warm.infill(InfillRequest("def f(a):\n    retur", "\n\nprint(f(2))\n"), soon())
    assert [candidate.text for candidate in warm.infill(request, soon())] == [candidate.text for candidate in cold]


def test_warming_reads_the_prompt_too(model_folder: Path) -> None:
    engine, request = _exact(model_folder), InfillRequest("def f(a):\n    return ", "\n\nprint(f(1))\n")
    engine.warm(request, soon())
    read: list[int] = []
    prefix, _ = engine.model.vocabulary.split_partial_word(request.prefix)
    assert isinstance(engine.model, SmallModel)
    context = finished(engine.model.encode(prefix, request.suffix))
    limited(engine.model.prompt(context), 1, read)
    assert read == []


def test_texts_are_judged_by_what_lies_beyond_the_windows_too(model_folder: Path) -> None:
    drafts = (Draft("alpha(1)", 12), Draft("beta(2)", 12))
    request = InfillRequest("result = ", "\n", "no-such-language", None, drafts, candidates=12)
    alone, told = (
        likelihoods(_exact(model_folder), replace(request, beyond=beyond))
        for beyond in (("", ""), ("result = beta(2)\n" * 200, ""))
    )
    assert told["beta(2)"] > alone["beta(2)"]
    assert told["beta(2)"] > -0.01
    assert told["alpha(1)"] < alone["alpha(1)"]


def test_texts_are_judged_by_the_project_once_it_was_counted(model_folder: Path) -> None:
    drafts = (Draft("alpha(1)", 12), Draft("beta(2)", 12))
    request = InfillRequest("result = ", "\n", "no-such-language", None, drafts, candidates=12)
    near = Surroundings.of("result = beta(2)\n" * 200)
    engine = _exact(model_folder)
    alone = likelihoods(engine, request)
    assert likelihoods(engine, replace(request, surroundings="not counted")) == alone
    deque(engine.surround(near), maxlen=0)
    told = likelihoods(engine, replace(request, surroundings=near.name))
    assert told["beta(2)"] > alone["beta(2)"]
    assert told["beta(2)"] > -0.02
    assert told["alpha(1)"] < alone["alpha(1)"]


def likelihoods(engine: Engine, request: InfillRequest) -> dict[str, float | None]:
    """The log-probability of each text that was scored for an answer."""
    scored: dict[str, float | None] = {}

    def keep(*given: Any) -> Job[list[Proposal]]:
        proposals = yield from CanvasSampler._scored(engine.sampler, *given)
        scored.update({proposal.text: proposal.logprob for proposal in proposals})
        return proposals

    with pytest.MonkeyPatch.context() as watched:
        watched.setattr(engine.sampler, "_scored", keep)
        engine.infill(request, soon())
    return scored


def test_warming_reads_the_words_that_texts_are_judged_by(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _exact(model_folder)
    request = InfillRequest("def f(a):\n    return ", "\n\nprint(f(1))\n", beyond=("import os\n", "x = 1\n"))
    engine.warm(request, soon())
    encoded: list[str] = []
    encode = engine.model.vocabulary.encode
    monkeypatch.setattr(engine.model.vocabulary, "encode", lambda text: encoded.append(text) or encode(text))
    engine.infill(request, soon())
    assert not {"import os", "\nx = 1"} & set(encoded)


def test_own_drafts_that_no_canvas_had_room_for_are_candidates_all_the_same(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = _exact(model_folder)
    vocabulary = engine.model.vocabulary
    _, start = vocabulary.split_partial_word("x = ")
    texts = [f"value_{number}" for number in range(OWN_DRAFTS)]
    ids = [tuple(vocabulary.encode(start + text)) for text in texts]
    written = [ModelDraft(tokens, (-0.1,) * (len(tokens) + 1)) for tokens in ids]
    monkeypatch.setattr(engine.model, "write_drafts", lambda *_: returning(written))
    steps: list[Step] = []
    answer = engine.answer(InfillRequest("x = ", "\n", candidates=40), soon(), lambda after: steps.append(after.state))
    assert set(texts) <= {candidate.text for candidate in answer.candidates}
    assert 0 < len(steps) <= STEPS_BESIDE_OWN


def test_a_copied_continuation_is_among_the_candidates(model_folder: Path) -> None:
    prefix = "self.connection = open_connection(host, port)\nself.closed = False\nself.connection = "
    # All are asked for: what a random network thinks of a copy changes with the text its tokenizer was trained on.
    found = _real(model_folder).infill(InfillRequest(prefix, "\n", candidates=12), soon())
    assert "open_connection(host, port)" in [candidate.text for candidate in found]


def test_drafts_of_its_own_are_tried_again_after_they_once_took_long(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = _exact(model_folder)
    engine.sampler.costs.observe(Phase.WRITE, 4, 2_000)  # a token: a whole line of them is beyond any deadline
    asked: list[str] = []
    monkeypatch.setattr(engine.model, "write_drafts", lambda *_: asked.append("") or returning([]))
    for number in range(100):
        engine.answer(InfillRequest(f"value_{number} = ", "\n"), Deadline.after_ms(10_000))
        if number == 0:
            assert not asked
    assert asked


def test_drafts_of_its_own_leave_time_to_be_judged(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = _exact(model_folder)
    asked: list[str] = []
    monkeypatch.setattr(engine.model, "write_drafts", lambda *_: asked.append("") or returning([]))
    for scoring_ms in (0.0, 9_000.0):
        monkeypatch.setattr(engine.sampler, "_scoring_ms", lambda took=scoring_ms: took)
        engine.answer(InfillRequest(f"after_{scoring_ms:.0f} = ", "\n"), Deadline.after_ms(10_000))
        assert len(asked) == 1


def _unread(*_arguments: object) -> Job[Context]:
    yield from ()
    raise OutOfTime


def returning(result: T) -> Job[T]:
    yield from ()
    return result


def _exact(folder: Path) -> Engine:
    """In float32: in bfloat16 a matrix product rounds differently for one row than for many."""
    family = load_canvas_model(str(folder), "cpu", ModelSettings(dtype="fp32"))
    return Engine(family, str(folder), Calibration())


_engines: dict[Path, Engine] = {}


def _real(folder: Path) -> Engine:
    if folder not in _engines:
        _engines[folder] = Engine.load(str(folder))
    return _engines[folder]


def test_without_time_to_read_the_copies_are_the_answer(model_folder: Path) -> None:
    engine = _real(model_folder)
    above = "".join(f"value_{number} = compute({number})\n" for number in range(200))
    clock = iter(range(1000))  # every look at the clock is a second later
    answer = engine.answer(InfillRequest(above + "value_7 = ", "\n"), Deadline(2.5, clock=lambda: float(next(clock))))
    assert answer.unread
    assert answer.candidates[0].text == "compute(7)"
    assert {candidate.source for candidate in answer.candidates} == {Source.RETRIEVAL}


def test_the_model_says_from_where_on_it_is_shown(model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    (folder / "calibration.json").write_text(Calibration(show_from=0.77).to_json())
    request = InfillRequest("x = ", "\n")
    engine = _real(folder)
    assert [engine.answer(request, soon()).show_from for _ in range(2)] == [0.77, 0.77]  # the second is a kept one
    assert engine.answer(replace(request, show_from=0.2), soon()).show_from == 0.2  # the user's own goes first
