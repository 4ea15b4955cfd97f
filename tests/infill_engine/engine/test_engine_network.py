"""The engine on a real network in miniature: prompts, scores and drafts."""

import shutil
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from engines import exact_engine, real_engine, returning, soon
from jobs import limited

from infill_engine import Deadline, Draft, InfillRequest, LocalEngine, Source
from infill_engine.budget.work import Job, Phase, finished
from infill_engine.models.base import ModelDraft
from infill_engine.models.small.model import SmallModel
from infill_engine.ranking.calibration import Calibration
from infill_engine.sampling.canvas_sampler import OWN_DRAFTS, STEPS_BESIDE_OWN, CanvasSampler
from infill_engine.sampling.denoising.denoise import Step
from infill_engine.types import Eagerness, Level, Proposal, Surroundings

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
    engine = real_engine(model_folder)
    answer = engine.answer(InfillRequest(prefix, suffix, language), soon())
    assert answer.candidates or answer.reason is not None
    assert all("<" + "mask>" not in candidate.text for candidate in answer.candidates)
    assert all(0 <= candidate.confidence <= 1 for candidate in answer.candidates)


def test_the_same_request_gives_the_same_answer_whatever_came_before(model_folder: Path) -> None:
    request = InfillRequest("def f(a):\n    return ", "\n\nprint(f(1))\n")
    cold = exact_engine(model_folder).infill(request, soon())
    warm = exact_engine(model_folder)
    warm.infill(InfillRequest("import os\n", ""), soon())
    warm.infill(InfillRequest("def f(a):\n    retur", "\n\nprint(f(2))\n"), soon())
    assert [candidate.text for candidate in warm.infill(request, soon())] == [candidate.text for candidate in cold]


def test_warming_reads_the_prompt_too(model_folder: Path) -> None:
    engine, request = exact_engine(model_folder), InfillRequest("def f(a):\n    return ", "\n\nprint(f(1))\n")
    engine.warm(request, soon())
    read: list[int] = []
    prefix, _ = engine.model.vocabulary.split_partial_word(request.prefix)
    assert isinstance(engine.model, SmallModel)
    context = finished(engine.model.encode(prefix, request.suffix))
    limited(engine.model.prompt(context), 1, read)
    assert read == []


def test_texts_are_judged_by_what_lies_beyond_the_windows_too(model_folder: Path) -> None:
    drafts = (Draft("alpha(1)", 12), Draft("beta(2)", 12))
    request = InfillRequest("result = ", "\n", "python", None, drafts, candidates=12)
    alone, told = (
        likelihoods(exact_engine(model_folder), replace(request, beyond=beyond))
        for beyond in (("", ""), ("result = beta(2)\n" * 200, ""))
    )
    assert told["beta(2)"] > alone["beta(2)"]
    assert told["beta(2)"] > -0.01
    assert told["alpha(1)"] < alone["alpha(1)"]


def test_texts_are_judged_by_the_project_once_it_was_counted(model_folder: Path) -> None:
    drafts = (Draft("alpha(1)", 12), Draft("beta(2)", 12))
    request = InfillRequest("result = ", "\n", "python", None, drafts, candidates=12)
    near = Surroundings.of("result = beta(2)\n" * 200)
    engine = exact_engine(model_folder)
    alone = likelihoods(engine, request)
    assert likelihoods(engine, replace(request, surroundings="not counted")) == alone
    deque(engine.surround(near), maxlen=0)
    told = likelihoods(engine, replace(request, surroundings=near.name))
    assert told["beta(2)"] > alone["beta(2)"]
    assert told["beta(2)"] > -0.02
    assert told["alpha(1)"] < alone["alpha(1)"]


def likelihoods(engine: LocalEngine, request: InfillRequest) -> dict[str, float | None]:
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
    engine = exact_engine(model_folder)
    request = InfillRequest("def f(a):\n    return ", "\n\nprint(f(1))\n", beyond=("import os\n", "x = 1\n"))
    engine.warm(request, soon())
    encoded: list[str] = []
    encode = engine.model.vocabulary.encode
    monkeypatch.setattr(engine.model.vocabulary, "encode", lambda text: encoded.append(text) or encode(text))
    engine.infill(request, soon())
    assert not {"import os", "\nx = 1"} & set(encoded)


def test_own_drafts_that_no_canvas_had_room_for_are_weighed_all_the_same(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = exact_engine(model_folder)
    vocabulary = engine.model.vocabulary
    _, start = vocabulary.split_partial_word("x = ")
    texts = [f"value_{number}" for number in range(OWN_DRAFTS)]
    ids = [tuple(vocabulary.encode(start + text)) for text in texts]
    written = [ModelDraft(tokens, (-0.1,) * (len(tokens) + 1)) for tokens in ids]
    monkeypatch.setattr(engine.model, "write_drafts", lambda *_: returning(written))
    steps: list[Step] = []
    answer = engine.answer(InfillRequest("x = ", "\n", candidates=40), soon(), lambda after: steps.append(after.state))
    assert set(texts) <= {weighed.text for weighed in (*answer.candidates, *answer.removed)}
    assert 0 < len(steps) <= STEPS_BESIDE_OWN


def test_a_copied_continuation_is_scored(model_folder: Path) -> None:
    prefix = "self.connection = open_connection(host, port)\nself.closed = False\nself.connection = "
    assert "open_connection(host, port)" in likelihoods(exact_engine(model_folder), InfillRequest(prefix, "\n"))


def test_drafts_of_its_own_are_tried_again_after_they_once_took_long(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = exact_engine(model_folder)
    engine.sampler.costs.observe(Phase.WRITE, 4, 2_000)  # a token: a whole line of them is beyond any deadline
    asked: list[str] = []
    monkeypatch.setattr(engine.model, "write_drafts", lambda *_: asked.append("") or returning([]))
    for number in range(100):
        engine.answer(InfillRequest(f"value_{number} = ", "\n"), Deadline.after_ms(10_000))
        if number == 0:
            assert not asked
    assert asked


def test_drafts_of_its_own_leave_time_to_be_judged(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = exact_engine(model_folder)
    asked: list[str] = []
    monkeypatch.setattr(engine.model, "write_drafts", lambda *_: asked.append("") or returning([]))
    for scoring_ms in (0.0, 9_000.0):
        monkeypatch.setattr(engine.sampler, "_scoring_ms", lambda took=scoring_ms: took)
        engine.answer(InfillRequest(f"after_{scoring_ms:.0f} = ", "\n"), Deadline.after_ms(10_000))
        assert len(asked) == 1


def test_without_time_to_read_the_copies_are_the_answer(model_folder: Path) -> None:
    engine = real_engine(model_folder)
    above = "".join(f"value_{number} = compute({number})\n" for number in range(200))
    clock = iter(range(1000))  # every look at the clock is a second later
    answer = engine.answer(InfillRequest(above + "value_7 = ", "\n"), Deadline(2.5, clock=lambda: float(next(clock))))
    assert answer.unread
    assert answer.candidates[0].text == "compute(7)"
    assert {candidate.source for candidate in answer.candidates} == {Source.RETRIEVAL}


def test_the_model_says_from_where_on_it_is_shown(model_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(model_folder, folder)
    levels = {level: Level(0.77 - number / 10) for number, level in enumerate(Eagerness)}
    (folder / "calibration.json").write_text(Calibration(levels=levels).to_json())
    request = InfillRequest("x = ", "\n")
    engine = real_engine(folder)
    assert [engine.answer(request, soon()).show_from for _ in range(2)] == [0.67, 0.67]  # the second is a kept one
    assert engine.answer(replace(request, show_from=Eagerness.QUIET), soon()).show_from == 0.77
    assert engine.answer(replace(request, show_from=0.2), soon()).show_from == 0.2  # the user's own goes first
