"""Where OpenVINO cannot be used, torch computes the same, and the profile says why. Without torch, a message does."""

import sys
from pathlib import Path

import pytest
import tiny_gguf
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.errors import InputError, ModelError
from infill_engine.models.trunk import trunk_loading as module
from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.prepared import Prepared, load_prepared
from infill_engine.models.trunk.sources import ShardsSource
from infill_engine.settings import ModelSettings


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ShardsSource:
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    made_from = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", made_from), silent)
    return ShardsSource(tmp_path / "trunk", tmp_path / "trunk")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "prepared_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def prepared(source: ShardsSource, cache: Path) -> Prepared:
    return load_prepared(source, cache, silent)


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


def test_openvino_computes_where_it_is_fast(
    prepared: Prepared, source: ShardsSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenVinoBackend, "is_fast", lambda _backend: True)
    assert isinstance(module._int8_backend(prepared, source, None), OpenVinoBackend)


def test_it_is_not_installed(prepared: Prepared, source: ShardsSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_openvino", lambda: False)
    backend = module._int8_backend(prepared, source, None)
    assert isinstance(backend, TorchBackend)
    assert "pip install openvino" in backend.profile


def test_it_has_no_fast_int8_products_here(
    prepared: Prepared, source: ShardsSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenVinoBackend, "is_fast", lambda _backend: False)
    backend = module._int8_backend(prepared, source, None)
    assert isinstance(backend, TorchBackend)
    assert "slower on this processor" in backend.profile


def test_it_does_not_know_the_processor(
    prepared: Prepared, source: ShardsSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_backend: OpenVinoBackend) -> bool:
        raise RuntimeError("could not create a primitive descriptor")

    monkeypatch.setattr(OpenVinoBackend, "is_fast", fail)
    assert "does not know this processor" in module._int8_backend(prepared, source, None).profile


@pytest.mark.usefixtures("without_torch")
def test_without_torch_openvino_computes_even_if_it_is_slow(
    prepared: Prepared, source: ShardsSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenVinoBackend, "is_fast", lambda _backend: False)
    backend = module._int8_backend(prepared, source, None)
    assert isinstance(backend, OpenVinoBackend)
    assert "slow on this processor: try" in backend.profile
    assert "infill-ls[torch]" in backend.profile
    monkeypatch.setattr(module, "on_apple_silicon", lambda: True)
    assert "infill-ls[mlx]" in module._int8_backend(prepared, source, None).profile


@pytest.mark.usefixtures("without_torch")
def test_without_torch_and_openvino_nothing_computes(
    prepared: Prepared, source: ShardsSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "find_openvino", lambda: False)
    with pytest.raises(ModelError, match=r"pip install openvino.*infill-ls\[torch\]"):
        module._int8_backend(prepared, source, None)


@pytest.mark.usefixtures("without_torch")
def test_other_precisions_need_torch(source: ShardsSource) -> None:
    with pytest.raises(InputError, match=r"precision `bf16` on a CPU needs torch.*infill-ls\[torch\]"):
        module._float_backend(source, None, "cpu", ModelSettings(dtype="bf16"), silent)
