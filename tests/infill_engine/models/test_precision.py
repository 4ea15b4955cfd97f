"""A precision too small for what a model computes: said, and not taken for certainty."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bench.families import fim, masked
from infill_engine import Deadline, Draft, Engine, InfillRequest, load_engine
from infill_engine.models.runtime.precision import fastest_dtype
from infill_engine.ranking.calibration import Calibration
from infill_engine.ranking.features import Features
from infill_engine.settings import ModelSettings
from infill_engine.types import Answer


def published(name: str, folder: Path) -> Path:
    """A model whose states grow larger than float16 can tell."""
    network: Any = masked.stock_network("qwen2") if name == "dream" else fim.new_network(name).requires_grad_(False)
    network.model.layers[0].mlp.down_proj.weight.mul_(3e4)
    return (masked if name == "dream" else fim).publish(name, network, folder)


def asked(engine: Engine, before: str) -> Answer:
    return engine.answer(InfillRequest(before, "\n", drafts=(Draft("count)", 9),)), Deadline.after_ms(60_000))


@pytest.mark.parametrize("name", ["dream", "mellum"])
def test_retrieved_texts_serve_in_its_place_and_that_is_said_once(name: str, tmp_path: Path) -> None:
    folder = published(name, tmp_path / name)
    engine = load_engine(str(folder), device="cpu", settings=ModelSettings(dtype="fp16"))
    assert engine.name == "retrieval"
    first, second = (asked(engine, f"import os\n\nfor {name} in range(") for name in ("one", "other"))
    assert "too large for its precision" in first.user_message
    assert "bf16 or fp32" in first.user_message
    assert [candidate.text for candidate in first.candidates] == ["count)"]
    assert not second.user_message
    assert load_engine(str(folder), device="cpu", settings=ModelSettings(dtype="fp32")).name == str(folder)


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_published_models_are_computed_in_the_precision_they_are_made_in(device: str) -> None:
    assert fastest_dtype(device) is torch.bfloat16


def test_what_is_no_number_is_not_certain() -> None:
    values = dict.fromkeys(Features.__dataclass_fields__, 0.0) | {"mean_logprob": float("nan")}
    assert Calibration().confidence(Features(**values)) == 0.0
