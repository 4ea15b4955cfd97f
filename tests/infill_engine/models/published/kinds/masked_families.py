"""What the tests of masked families share: loading, predictions and a whole engine."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor
from toy import LANGUAGE, PAIRS

from bench.families.masked import PUBLISHED
from infill_engine import Deadline, Engine, InfillRequest, load_engine
from infill_engine.budget.work import finished
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel
from infill_engine.settings import EngineSettings, ModelSettings
from infill_engine.types import HoleKind

EXACT = ModelSettings(dtype="fp32")
SOME_PAIRS = PAIRS[::5]
BEFORE, BEHIND = "x = [1:", ":2]\nfor i in range(10):\n"
every_family = pytest.mark.parametrize("name", PUBLISHED)


def loaded(folder: Path, settings: ModelSettings = EXACT) -> BidirectionalModel:
    family = load_canvas_model(str(folder), "cpu", settings)
    assert isinstance(family, BidirectionalModel)
    return family


def predictions(family: BidirectionalModel, rows: list[int | list[int]], text: tuple[str, str]) -> Tensor:
    canvas = lay_out(rows, family.info.mask_id)
    return family.denoise(finished(family.encode(*text)), HoleKind.LINE, canvas, np.arange(canvas.slots))


def engine(folder: Path, settings: ModelSettings = EXACT) -> Engine:
    short = replace(settings, prefix_tokens=64, suffix_tokens=64)  # the warm-up's text is longer than the tests' are
    return load_engine(str(folder), device="cpu", settings=EngineSettings(model=short))


def first_candidate(engine: Engine, before: str, behind: str) -> str | None:
    found = engine.infill(InfillRequest(before, behind, LANGUAGE, drafts=()), Deadline.after_ms(60_000))
    return found[0].text if found else None
