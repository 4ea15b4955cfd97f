"""A compiled graph is kept, made again if it is damaged, and not needed."""

import locale
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import openvino
import pytest
import tiny_gguf
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.models.checkpoint.folder import CHECKSUMS
from infill_engine.models.runtime.allocator import release_mapped
from infill_engine.models.trunk import trunk_loading as module
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.graph import OPERATIONS, WEIGHTS
from infill_engine.models.trunk.prepared import GRAPH, kept_files
from infill_engine.models.trunk.products import BY_PLUGIN, IN_GRAPH
from infill_engine.models.trunk.prompt_cache import NOTHING
from infill_engine.models.trunk.slots import TEXTS, text_rows
from infill_engine.models.trunk.sources import ShardsSource
from infill_engine.settings import ModelSettings


@pytest.fixture
def trunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    source = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", source), silent)
    monkeypatch.setattr(module, "prepared_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(ShardsSource, "vocabulary", lambda _self: Mock())
    return tmp_path / "trunk"


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that weights are prepared."""
    found: list[int] = []
    prepare = module.prepare
    monkeypatch.setattr(module, "prepare", lambda *given: found.append(1) or prepare(*given))
    return found


def load(trunk: Path) -> np.ndarray:
    """Load the model as a start does. Return what it predicts."""
    backend = module.load_trunk(ShardsSource(trunk, trunk), "cpu", ModelSettings(), silent).backend
    rows = text_rows(NOTHING, [3, 7], [0, 1], [TEXTS, TEXTS + 1], [[], [TEXTS]])
    return backend.run(backend.new_buffer(), rows, 0).logprobs


def kept(trunk: Path) -> list[Path]:
    return sorted((trunk.parent / "cache").iterdir())


def test_it_is_made_once(trunk: Path, prepared: list[int]) -> None:
    first = load(trunk)
    np.testing.assert_array_equal(load(trunk), first)
    (folder,) = kept(trunk)
    assert len(prepared) == 1
    assert folder.suffix == GRAPH
    assert len(list(folder.glob("*.blob"))) == 1
    (found,) = kept_files(folder.parent)
    assert found.model == "trunk"
    assert found.size > (folder / WEIGHTS).stat().st_size


def test_it_computes_what_a_graph_in_memory_does(trunk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(trunk)
    monkeypatch.setattr("infill_engine.models.trunk.graph_files.find_graph", lambda *_: None)
    monkeypatch.setattr("infill_engine.models.trunk.graph_files.write_graph", Mock(side_effect=OSError(None, "full")))
    np.testing.assert_array_equal(load(trunk), first)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-60])


@pytest.mark.parametrize(
    ("name", "damage"), [(OPERATIONS, flip), (WEIGHTS, cut), ("*.blob", flip), ("*.blob", Path.unlink)]
)
def test_a_damaged_one_is_made_again(
    trunk: Path, prepared: list[int], name: str, damage: Callable[[Path], None]
) -> None:
    first = load(trunk)
    (file,) = kept(trunk)[0].glob(name)
    file.chmod(0o600)
    damage(file)
    np.testing.assert_array_equal(load(trunk), first)
    assert len(prepared) == 2
    assert len(kept(trunk)) == 1


def test_an_unfinished_one_is_made_again_and_then_used(trunk: Path, prepared: list[int]) -> None:
    load(trunk)
    (kept(trunk)[0] / CHECKSUMS).unlink()
    load(trunk)
    assert len(prepared) == 2
    load(trunk)
    assert len(prepared) == 2


def test_another_adapter_replaces_it(trunk: Path, prepared: list[int]) -> None:
    plain = load(trunk)
    Adapter({"layers.0.out": (np.ones((64, 1), np.float32), np.ones((1, 64), np.float32))}).save(trunk)
    assert not np.array_equal(load(trunk), plain)
    assert len(prepared) == 2
    assert len(kept(trunk)) == 1


def test_a_processor_that_needs_other_products_gets_a_graph_of_its_own(
    trunk: Path, prepared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for products in (BY_PLUGIN, IN_GRAPH):
        monkeypatch.setattr(module, "find_openvino", lambda found=products: (found, ""))
        load(trunk)
    assert len(prepared) == 2
    assert len(kept(trunk)) == 1


def test_a_graph_that_cannot_be_written_is_compiled_in_memory(trunk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load(trunk)

    def full(*_given: object) -> None:
        raise RuntimeError("basic_ios::clear: iostream error")

    monkeypatch.setattr(openvino, "serialize", full)
    (kept(trunk)[0] / CHECKSUMS).unlink()
    np.testing.assert_array_equal(load(trunk), first)
    assert len(kept(trunk)) == 1  # the unfinished one


def test_a_folder_that_cannot_be_written_is_named_and_the_model_loads(trunk: Path) -> None:
    folder = trunk.parent / "cache"
    folder.write_text("a file")
    model = module.load_trunk(ShardsSource(trunk, trunk), "cpu", ModelSettings(), silent)
    assert f"cannot be kept in {folder} (File exists)" in model.user_message
    folder.unlink()
    assert module.load_trunk(ShardsSource(trunk, trunk), "cpu", ModelSettings(), silent).user_message == ""


@pytest.fixture
def same_locale() -> Iterator[None]:
    """OpenVINO sets another locale while it writes a graph. Of two threads, the last one restores the wrong one."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    locale.setlocale(locale.LC_ALL, before)


@pytest.mark.usefixtures("same_locale")
def test_two_engines_prepare_at_once(trunk: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(*pool.map(load, [trunk, trunk]))
    assert len(kept(trunk)) == 1


def test_what_an_earlier_version_kept_is_deleted(trunk: Path) -> None:
    old = trunk.parent / "cache" / f"trunk-{'0' * 24}-{'1' * 64}.safetensors"
    old.parent.mkdir()
    old.write_text("weights")
    os.utime(old, (0, 0))
    load(trunk)
    assert not old.exists()


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux says what is mapped")
def test_weights_that_have_been_packed_take_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"x" * 1_000_000)
    mapped = np.memmap(path, np.uint8, mode="r")

    def resident() -> int:
        _, _, about = Path("/proc/self/smaps").read_text().partition(f" {path}\n")
        return int(about.partition("Rss:")[2].split()[0])

    total = int(mapped.sum())
    assert resident() > 900
    release_mapped(path)
    assert resident() == 0
    assert int(mapped.sum()) == total
