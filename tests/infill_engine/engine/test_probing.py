"""The small pass that a process is probed with: it runs, and it changes nothing that requests rely on."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "models" / "trunk"))

import numpy as np
from local_engine import engine_of
from tiny_trunk import tiny_model

from infill_engine.budget.work import finished
from infill_engine.models.base import CanvasModel

BEFORE, AFTER = "def area(self):\n    return ", "\n"


def test_a_probe_of_the_trunk_forgets_no_prompt_and_no_text(tmp_path: Path) -> None:
    engine = engine_of(tiny_model(tmp_path), "trunk")
    model = engine.proposer.model
    reading = finished(model.read(model.prompt(BEFORE, AFTER)))
    before = model.after(reading).logprobs
    slots = [one.slot for one in model.run_pass(reading, [7, 8], [0, 1], [[], [~0]]).after]
    (expected,) = model.run_pass(reading, [9], [2], [slots]).after
    engine.probe()()
    again = finished(model.read(model.prompt(BEFORE, AFTER)))
    assert not again.waiting
    assert (model.after(again).logprobs == before).all()
    (found,) = model.run_pass(reading, [9], [2], [slots]).after
    assert np.allclose(found.logprobs, expected.logprobs, atol=1e-4)


def test_a_probe_reads_the_context_once_for_each_model(family: CanvasModel) -> None:
    engine = engine_of(family)
    steps, encoded = [], []
    encode, denoise = engine.proposer.model.encode, engine.proposer.model.denoise
    engine.proposer.model.encode = lambda *texts: encoded.append(texts) or encode(*texts)
    engine.proposer.model.denoise = lambda *task: steps.append(task) or denoise(*task)
    for _ in range(2):
        one_pass = engine.probe()
        steps.clear()
        one_pass()
        one_pass()
        assert len(steps) == 2
    assert len(encoded) == 1
