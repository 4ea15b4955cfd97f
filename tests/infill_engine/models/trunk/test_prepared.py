"""Prepared weights are kept in a folder, made again when they do not fit, and not needed there."""

import threading
from pathlib import Path

import numpy as np
import pytest
import tiny_gguf
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.models.trunk import prepared as module
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.files.formats import pack_rows
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.prepared import Prepared, load_prepared
from infill_engine.models.trunk.sources import ShardsSource


@pytest.fixture
def trunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    source = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", source), silent)
    return tmp_path / "trunk"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that weights are prepared."""
    found: list[int] = []
    prepare = module._prepare
    monkeypatch.setattr(module, "_prepare", lambda *given: found.append(1) or prepare(*given))
    return found


def load(trunk: Path) -> Prepared:
    return load_prepared(ShardsSource(trunk, trunk), trunk.parent / "cache", silent)


def files(trunk: Path) -> list[Path]:
    return sorted((trunk.parent / "cache").iterdir())


def equal(one: Prepared, other: Prepared) -> bool:
    return one.arrays.keys() == other.arrays.keys() and all(
        np.array_equal(one.arrays[name], other.arrays[name]) for name in one.arrays
    )


def test_they_are_made_once(trunk: Path, made: list[int]) -> None:
    first = load(trunk)
    assert equal(first, load(trunk))
    assert len(made) == len(files(trunk)) == 1
    codes, scales = pack_rows(TrunkWeights(trunk).read_matrix(1, "o"))
    assert np.array_equal(first.arrays["layers.1.out.codes"], codes)
    assert np.array_equal(first.arrays["layers.1.out.scales"], scales[:, None])


@pytest.mark.parametrize("damage", ["cut short", "a flipped bit", "empty"])
def test_a_damaged_file_is_made_again(trunk: Path, made: list[int], damage: str) -> None:
    first = load(trunk)
    content = bytearray(files(trunk)[0].read_bytes())
    content[-40] ^= 1
    (path,) = files(trunk)
    path.unlink()  # the first load has it mapped
    path.write_bytes({"cut short": content[:-60], "a flipped bit": content, "empty": b""}[damage])
    assert equal(first, load(trunk))
    assert len(made) == 2
    assert len(files(trunk)) == 1


def test_another_adapter_replaces_the_file(trunk: Path, made: list[int]) -> None:
    plain = load(trunk)
    Adapter({"layers.0.out": (np.ones((64, 1), np.float32), np.ones((1, 64), np.float32))}).save(trunk)
    assert not equal(plain, load(trunk))
    assert len(made) == 2
    assert len(files(trunk)) == 1


def test_a_folder_that_cannot_be_written_is_named_and_the_model_loads(trunk: Path, made: list[int]) -> None:
    kept = load(trunk)
    files(trunk)[0].unlink()
    (trunk.parent / "cache").rmdir()
    (trunk.parent / "cache").write_text("a file")
    found = load(trunk)
    assert equal(kept, found)
    assert (kept.note, str(trunk.parent / "cache") in found.note) == ("", True)


def test_two_engines_prepare_at_once(trunk: Path) -> None:
    found: list[Prepared] = []
    threads = [threading.Thread(target=lambda: found.append(load(trunk))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert equal(*found)
    assert len(files(trunk)) == 1
