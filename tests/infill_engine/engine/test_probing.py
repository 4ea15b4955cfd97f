"""The small pass that a process is probed with: it runs, and it changes nothing that requests rely on."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "models" / "trunk"))

import numpy as np
from tiny_trunk import tiny_model

from infill_engine.budget.work import finished
from infill_engine.engine.local import LocalEngine
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.ranking.calibration import Calibration

BEFORE, AFTER = "def area(self):\n    return ", "\n"


def test_a_probe_of_the_trunk_forgets_no_prompt_and_no_text(tmp_path: Path) -> None:
    engine = LocalEngine(tiny_model(tmp_path), "trunk", Calibration())
    model = engine.model
    reading = finished(model.read(model.prompt(BEFORE, AFTER)))
    before = model.after(reading).logprobs
    slots = model.logprobs(reading, [7, 8], [0, 1], [[], [~0]]).slots
    expected = model.logprobs(reading, [9], [2], [slots]).logprobs
    engine.small_pass()()
    again = finished(model.read(model.prompt(BEFORE, AFTER)))
    assert not again.waiting
    assert (model.after(again).logprobs == before).all()
    assert np.allclose(model.logprobs(reading, [9], [2], [slots]).logprobs, expected, atol=1e-4)


def test_a_probe_reads_the_context_once_for_each_model() -> None:
    engine = LocalEngine(load_canvas_model("small", "cpu"), "small", Calibration())
    steps, encoded = [], []
    encode, denoise = engine.model.encode, engine.model.denoise
    engine.model.encode = lambda *texts: encoded.append(texts) or encode(*texts)
    engine.model.denoise = lambda *task: steps.append(task) or denoise(*task)
    for _ in range(2):
        one_pass = engine.small_pass()
        one_pass()
        one_pass()
    assert (len(encoded), len(steps)) == (1, 4)
