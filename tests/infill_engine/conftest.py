"""A published masked-diffusion family in miniature: random weights from a fixed seed and a fixed tokenizer."""

from pathlib import Path

import pytest

from bench.families import masked
from infill_engine.models.base import CanvasModel
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.settings import ModelSettings


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return masked.publish("dream", masked.stock_network("qwen2"), tmp_path_factory.mktemp("miniature") / "dream")


@pytest.fixture
def family(model_folder: Path) -> CanvasModel:
    """In float32: in bfloat16 a matrix product rounds differently for one row than for many."""
    return load_canvas_model(str(model_folder), "cpu", ModelSettings(dtype="fp32"))
