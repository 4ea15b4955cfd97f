"""The default's family through MLX against the same through torch: same weights, same predictions, same reuse."""

from pathlib import Path

import numpy as np
import pytest
import torch
from jobs import limited

from infill_engine import Deadline, InfillRequest, load_engine
from infill_engine.budget.work import OutOfTime, finished
from infill_engine.errors import InputError
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.runtime import devices as load
from infill_engine.models.runtime.devices import choose_device, device_for
from infill_engine.models.small import drafting as continuation
from infill_engine.models.small.backends.torch_writer import TorchWriter
from infill_engine.models.small.model import SmallModel
from infill_engine.models.small.network.dual_encoder import MASK
from infill_engine.models.small.streams import PART
from infill_engine.sampling.denoising.denoise import Step
from infill_engine.settings import EngineSettings, ModelSettings
from infill_engine.types import HoleKind, Reason

pytest.importorskip("mlx.core", reason="NO MLX, so its family was not tested: pip install 'infill-ls[mlx]'")

PREFIX = "def area(radius):\n    pi = 3.14\n    return "
SUFFIX = "\n\n\ndef main():\n    print(area(2))\n"
EXACT = ModelSettings(dtype="fp32")
CLOSE = {"atol": 1e-4, "rtol": 1e-4}
SIDES = [(PREFIX, SUFFIX), (PREFIX, ""), ("", SUFFIX), ("x", "\ny"), ("x = 1\n" * 300, "y = 2\n" * 300)]


@pytest.fixture
def ours(model_folder: Path) -> SmallModel:
    found = load_canvas_model(str(model_folder), "mlx", EXACT)
    assert isinstance(found, SmallModel)
    return found


@pytest.fixture(scope="module")
def theirs(model_folder: Path) -> SmallModel:
    """Through torch, from the same file."""
    found = load_canvas_model(str(model_folder), "cpu", EXACT)
    assert isinstance(found, SmallModel)
    return found


def logits(family: SmallModel, prefix: str, suffix: str) -> torch.Tensor:
    canvas = lay_out([3, 8, [9, 10, 11]], MASK)
    return family.denoise(finished(family.encode(prefix, suffix)), HoleKind.LINE, canvas, np.arange(canvas.slots))


@pytest.mark.parametrize(("prefix", "suffix"), SIDES)
def test_logits_are_those_of_torch(ours: SmallModel, theirs: SmallModel, prefix: str, suffix: str) -> None:
    torch.testing.assert_close(logits(ours, prefix, suffix), logits(theirs, prefix, suffix), **CLOSE)


def test_only_the_wanted_slots_are_answered(ours: SmallModel) -> None:
    context, canvas = finished(ours.encode(PREFIX, SUFFIX)), lay_out([3, 8], MASK)
    every = ours.denoise(context, HoleKind.BLOCK, canvas, np.arange(canvas.slots))
    some = ours.denoise(context, HoleKind.BLOCK, canvas, np.array([9, 2]))
    torch.testing.assert_close(some, every[[9, 2]], **CLOSE)


@pytest.mark.parametrize("kind", list(HoleKind))
def test_lengths_are_those_of_torch(ours: SmallModel, theirs: SmallModel, kind: HoleKind) -> None:
    found, expected = (
        {
            length.slots: length.logprob
            for length in family.propose_lengths(finished(family.encode(PREFIX, SUFFIX)), kind, 10)
        }
        for family in (ours, theirs)
    )
    assert found == pytest.approx(expected, abs=1e-4)


def test_lines_that_it_writes_itself_are_those_of_torch(ours: SmallModel, theirs: SmallModel) -> None:
    one, other = (finished(family.prompt(finished(family.encode(PREFIX, SUFFIX)))) for family in (ours, theirs))
    network = theirs.backend.network
    expected = TorchWriter(network, network.write, other.encoder, other.states[:, -1:], other.ids, 2)
    found = ours.backend.writer(one, 2)
    torch.testing.assert_close(found.first(), expected.first(), **CLOSE)
    rows: list[list[int]] = [[], []]
    for tokens in ((70, 71), (80, 81), (90, 91), (100, 101)):
        rows = [[*row, token] for row, token in zip(rows, tokens, strict=True)]
        torch.testing.assert_close(found.after(rows), expected.after(rows), **CLOSE)
    rows = [[*rows[1], 110], [*rows[1], 111]]
    torch.testing.assert_close(found.after(rows, [1, 1]), expected.after(rows, [1, 1]), **CLOSE)


@pytest.mark.parametrize("texts", [["pi * radius", "pi", "radius ** 2"], ["", "pi"], [""], []])
def test_it_judges_texts_like_torch(ours: SmallModel, theirs: SmallModel, texts: list[str]) -> None:
    found, expected = (
        finished(
            family.score(
                finished(family.prompt(finished(family.encode(PREFIX, SUFFIX)))),
                "",
                "",
                texts,
                finished(family.count((PREFIX, SUFFIX))),
                None,
            )
        )
        for family in (ours, theirs)
    )
    assert found == pytest.approx(expected, abs=1e-3)


def test_it_offers_such_lines(ours: SmallModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuation, "LEAST_LOGPROB", -1e3)
    going_on = [100, 101, 102]
    monkeypatch.setattr(ours.vocabulary, "breaks_line", lambda: np.setdiff1d(np.arange(2, 700), going_on))
    written = finished(ours.write_drafts(finished(ours.prompt(finished(ours.encode(PREFIX, SUFFIX)))), "", "", 3))
    assert sorted(line.tokens[0] for line in written) == going_on


def test_an_engine_reads_ahead_and_answers(model_folder: Path) -> None:
    engine = load_engine(str(model_folder), device="mlx", settings=EngineSettings(model=EXACT))
    request = InfillRequest(PREFIX, SUFFIX)
    engine.warm(request, Deadline.after_ms(60_000))
    steps: list[Step] = []
    answer = engine.answer(request, Deadline.after_ms(60_000), lambda after: steps.append(after.state))
    assert steps
    assert answer.reason in (None, Reason.BLANK)  # random weights may have nothing to say


EDITS = [
    (PREFIX, PREFIX + "pi * ", SUFFIX, SUFFIX),
    (PREFIX + "pi", PREFIX + "radius", SUFFIX, ")" + SUFFIX),
    (PREFIX, PREFIX, SUFFIX, ""),
    (PREFIX, "import os\n", "", SUFFIX),
]


@pytest.mark.parametrize(("prefix", "then_prefix", "suffix", "then_suffix"), EDITS)
def test_reused_keys_change_nothing(
    ours: SmallModel, theirs: SmallModel, prefix: str, then_prefix: str, suffix: str, then_suffix: str
) -> None:
    finished(ours.encode(prefix, suffix))
    torch.testing.assert_close(
        logits(ours, then_prefix, then_suffix), logits(theirs, then_prefix, then_suffix), **CLOSE
    )


def test_typing_encodes_only_what_is_new(ours: SmallModel) -> None:
    cold = finished(ours.encode(PREFIX, SUFFIX))
    assert cold.encoded == cold.tokens
    assert 1 <= finished(ours.encode(PREFIX + "1", SUFFIX)).encoded <= 2


def test_reading_that_was_stopped_goes_on_where_it_was(ours: SmallModel) -> None:
    prefix = "".join(f"value_{number} = {number}\n" for number in range(40))
    with pytest.raises(OutOfTime):
        limited(ours.encode(prefix, SUFFIX), 1)
    context = finished(ours.encode(prefix, SUFFIX))
    assert context.encoded == context.tokens - PART


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_the_engine_runs_on_it(model_folder: Path, precision: str) -> None:
    settings = EngineSettings(model=ModelSettings(dtype=precision))
    engine = load_engine(str(model_folder), device="mlx", settings=settings)
    above = "".join(f"value_{number} = compute({number})\n" for number in range(20))
    answer = engine.answer(InfillRequest(above + "value_7 = ", "\n"), Deadline.after_ms(60_000))
    assert engine.device == "mlx"
    assert answer.candidates
    assert any(candidate.steps for candidate in answer.candidates)


def test_it_is_taken_by_itself_on_apple_silicon_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "on_apple_silicon", lambda: False)
    assert device_for("duostream", "auto") == choose_device("auto")
    assert device_for("duostream", "mlx") == "mlx"
    monkeypatch.setattr(load, "on_apple_silicon", lambda: True)
    assert device_for("duostream", "auto") == "mlx"
    assert device_for("duostream", "cpu") == "cpu"
    assert device_for("llama", "auto") == choose_device("auto")
    with pytest.raises(InputError, match="only the default model"):
        device_for("llama", "mlx")
    monkeypatch.setattr(load, "find_spec", lambda _name: None)
    assert device_for("duostream", "auto") == choose_device("auto")
    with pytest.raises(InputError, match="mlx"):
        device_for("duostream", "mlx")
