"""What serves as the default: the model, and retrieved texts if it cannot be loaded."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "models" / "trunk"))

from tiny_trunk import tiny_model

from infill_engine import Deadline, InfillRequest, Reason, Source
from infill_engine.engine import engine_loading as module
from infill_engine.engine.engine_loading import load_engine
from infill_engine.engine.loaded_model import FINISH_MARGIN_MS
from infill_engine.errors import ModelNotFoundError, ModelTooLargeError
from infill_engine.sampling.trunk.tree_sampler import TreeSampler
from infill_engine.serving.starting import ready_status

SOON = Deadline.after_ms(600_000)


def test_the_model_serves_and_tells_its_shortest_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_model", lambda *_: tiny_model(tmp_path))
    monkeypatch.setattr(TreeSampler, "least_ms", lambda _sampler: 145.0)
    engine = load_engine("default", device="cpu")
    assert (engine.name, type(engine.proposer)) == ("default", TreeSampler)
    assert ready_status(engine).least_ms == pytest.approx(145.0 + FINISH_MARGIN_MS, abs=5)


@pytest.mark.parametrize(
    ("error", "said"),
    [(ModelNotFoundError("none"), "infill-ls models get"), (ModelTooLargeError("too large"), "cannot be loaded")],
)
def test_retrieved_texts_serve_without_it(error: Exception, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> object:
        raise error

    monkeypatch.setattr(module, "load_model", fail)
    engine = load_engine("default", device="cpu")
    assert engine.name == "retrieval"
    assert engine.profile.startswith("retrieved texts only: ")
    assert said in engine.profile
    first = engine.answer(InfillRequest("total = add(width, height)\nother = 1\ntotal = ", "\n"), SOON)
    assert "add(width, height)" in [candidate.text for candidate in first.candidates]
    assert {candidate.source for candidate in first.candidates} == {Source.RETRIEVAL}
    assert (str(error) in first.user_message) == isinstance(error, ModelTooLargeError)
    nothing = engine.answer(InfillRequest("x = ", "\n"), SOON)
    assert (nothing.candidates, nothing.reason, nothing.user_message) == ((), Reason.BLANK, "")
    assert not list(engine.continue_search(InfillRequest("x = ", "\n"), SOON))
