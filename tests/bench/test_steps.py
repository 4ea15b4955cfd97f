"""Every figure of the bench is measured on networks in miniature, or named with the reason why not."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.steps import networks
from bench.steps.__main__ import figures, main
from bench.steps.measure import TINY
from infill_engine.models.runtime import cuda_graphs as compiled


def of(results: list[dict[str, Any]], model: str, **fields: Any) -> list[dict[str, Any]]:
    return [each for each in results if each.get("model") == model and fields.items() <= each.items()]


def test_every_figure_is_there_or_said_to_be_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "steps.jsonl"
    assert main(["--tiny", "--device", "cpu", "--out", str(out)]) == 0
    results = [json.loads(line) for line in out.read_text().splitlines()]
    assert results[0]["device"] == "cpu"
    assert results[0]["dtype"] == "float32"
    for model in ("gemma", "dream", "dream-kept"):
        steps = of(results, model, what="step")
        sizes = [(each["candidates"], each["slots"]) for each in steps]
        assert sizes == [(rows, slots) for rows in TINY.candidates for slots in TINY.slots]
        assert all(each["mode"] == each["computed"] == "eager" for each in steps)
        assert all(0 < each["tokens"] <= each["prompt"] for each in steps)
        (canvas,) = of(results, model, what="canvas, warm prefix")
        assert canvas["steps"] == TINY.steps
        assert of(results, model, what="encode")[0]["typed_to_cold"] > 0
        assert of(results, model, what="compiling")[0]["skipped"] == "nothing is compiled on cpu"
        assert "miniature" in of(results, model, what="model")[0]["dimensions"]
    eager, static = of(results, "gemma", what="generate")
    assert eager["canvases_per_s"] > 0
    assert "not compiled" in static["skipped"]
    assert "no generate" in of(results, "dream", what="generate")[0]["skipped"]
    assert "nothing is compiled on cpu" in capsys.readouterr().out


def test_compiled_figures_stand_beside_eager_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "compiler_for", lambda _device: lambda function: function)
    results = list(figures(["dream-kept"], "cpu", TINY, tiny=True))
    eager, after = (of(results, "dream-kept", what="step", mode=mode) for mode in ("eager", "compiled"))
    assert len(eager) == len(after) == len(TINY.candidates) * len(TINY.slots)
    assert {each["computed"] for each in eager} == {"eager"}
    assert {each["computed"] for each in after} == {"compiled"}
    assert "seconds" in of(results, "dream-kept", what="compiling")[0]


def test_what_does_not_compile_or_fit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_function: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr(compiled, "compiler_for", lambda _device: fail)
    results = list(figures(["dream"], "cpu", TINY, tiny=True))
    assert "could not be compiled" in of(results, "dream", what="compiling")[0]["skipped"]
    assert not of(results, "dream", what="step", mode="compiled")
    monkeypatch.setattr(networks, "free_memory", lambda _device: 1000)
    (only,) = of(list(figures(["dream"], "cpu", TINY, tiny=True)), "dream")
    assert "0.0 GB free" in only["skipped"]


def test_true_dimensions_have_the_published_sizes() -> None:
    with torch.device("meta"):
        dream, gemma = networks.dream_network(networks.DREAM_SHAPE), networks.gemma_network(networks.GEMMA_SHAPE, 256)
    for billions, network in ((7.62, dream), (25.82, gemma)):
        count = sum(each.numel() for each in network.parameters()) / 1e9
        assert count == pytest.approx(billions, rel=0.03)  # without what is for images


def test_a_processor_is_not_asked_for_true_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cpu"]) == 2
    assert "--tiny" in capsys.readouterr().err
