"""Prepared weights are int8, with the adapter merged in."""

from pathlib import Path

import numpy as np
import pytest
import tiny_gguf
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.files.formats import pack_rows
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.prepared import prepare
from infill_engine.models.trunk.sources import ShardsSource


@pytest.fixture
def trunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    source = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", source), silent)
    return tmp_path / "trunk"


def test_every_matrix_has_a_scale_for_each_row(trunk: Path) -> None:
    found = prepare(ShardsSource(trunk, trunk), silent)
    codes, scales = pack_rows(TrunkWeights(trunk).read_matrix(1, "o"))
    assert np.array_equal(found["layers.1.out.codes"], codes)
    assert np.array_equal(found["layers.1.out.scales"], scales[:, None])


def test_the_adapter_is_merged_in(trunk: Path) -> None:
    plain = prepare(ShardsSource(trunk, trunk), silent)
    Adapter({"layers.0.out": (np.ones((64, 1), np.float32), np.ones((1, 64), np.float32))}).save(trunk)
    found = prepare(ShardsSource(trunk, trunk), silent)
    changed = {name for name in plain if not np.array_equal(found[name], plain[name])}
    assert changed == {"layers.0.out.codes", "layers.0.out.scales"}
