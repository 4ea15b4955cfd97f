"""The engine on a real network in miniature."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from engines import exact_engine, real_engine, soon

from infill_engine import Deadline, InfillRequest, Source
from infill_engine.ranking.calibration import Calibration
from infill_engine.types import Eagerness, Level

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


@pytest.mark.parametrize(
    ("prefix", "suffix", "language"),
    [(*place, "python") for place in PLACES] + [(*PLACES[0], "javascript"), (*PLACES[0], "no-such-language")],
)
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


def test_warming_reads_the_context(model_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, read = exact_engine(model_folder), []
    encode = engine.proposer.model.encode
    monkeypatch.setattr(engine.proposer.model, "encode", lambda *texts: read.append(texts) or encode(*texts))
    engine.prefetch(InfillRequest("def f(a):\n    retur", "\n"), soon())
    assert read == [("def f(a):\n    ", "\n")]


def test_a_copied_continuation_is_scored(model_folder: Path) -> None:
    prefix = "self.connection = open_connection(host, port)\nself.closed = False\nself.connection = "
    engine = exact_engine(model_folder)
    answer = engine.answer(InfillRequest(prefix, "\n"), soon())
    assert "open_connection(host, port)" in [each.text for each in (*answer.candidates, *engine.removed)]


def test_without_time_for_a_step_the_copies_are_the_answer(model_folder: Path) -> None:
    engine = real_engine(model_folder)
    above = "".join(f"value_{number} = compute({number})\n" for number in range(200))
    clock = iter(range(1000))  # every look at the clock is a second later
    answer = engine.answer(InfillRequest(above + "value_7 = ", "\n"), Deadline(2.5, clock=lambda: float(next(clock))))
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
