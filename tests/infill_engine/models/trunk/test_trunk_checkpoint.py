"""What a damaged or missing shard is called, and where the trunk is looked for."""

import json
from pathlib import Path

import numpy as np
import pytest
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.errors import ModelDamagedError
from infill_engine.models.trunk.files import folder as folders
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.files.folder import find_trunk
from infill_engine.models.trunk.files.formats import unpack
from infill_engine.models.trunk.files.weights import MATRICES, TrunkWeights
from infill_engine.models.trunk.sources import ShardsSource
from infill_engine.models.trunk.trunk_loading import load_trunk
from infill_engine.settings import ModelSettings

SECOND = "model-00002-of-00003.safetensors"
REMEDY = "run `infill-ls models get` to rebuild it"


@pytest.fixture
def trunk(tmp_path: Path) -> Path:
    source = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", source), silent)
    return tmp_path / "trunk"


def refused(folder: Path, named: str) -> str:
    with pytest.raises(ModelDamagedError) as caught:
        TrunkWeights(folder)
    said = str(caught.value)
    assert str(folder / named) in said
    assert said.endswith(REMEDY)
    return said


def rewrite(path: Path, start: int, what: bytes) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:start] + what + content[start + len(what) :])


def test_a_missing_shard(trunk: Path) -> None:
    (trunk / SECOND).unlink()
    assert "is missing" in refused(trunk, SECOND)


def test_a_shard_cut_short(trunk: Path) -> None:
    content = (trunk / SECOND).read_bytes()
    (trunk / SECOND).write_bytes(content[:-100])
    assert "is damaged or cut short" in refused(trunk, SECOND)
    (trunk / SECOND).write_bytes(content[:5])
    assert "is damaged or cut short" in refused(trunk, SECOND)


def test_an_altered_shard(trunk: Path) -> None:
    rewrite(trunk / SECOND, (trunk / SECOND).stat().st_size - 8, b"\xff")
    assert "its checksum differs" in refused(trunk, SECOND)


@pytest.mark.parametrize("header", [b"[" * 16, b'{"a": "b"}      ', b"[]              ", b"\xff" * 16])
def test_a_header_that_makes_no_sense(trunk: Path, header: bytes) -> None:
    (trunk / SECOND).write_bytes(len(header).to_bytes(8, "little") + header)
    assert "is damaged or cut short" in refused(trunk, SECOND)


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "checksums.json", "config.json", "tokenizer.json"])
def test_a_missing_file_beside_the_shards(trunk: Path, name: str) -> None:
    (trunk / name).unlink()
    assert "is missing" in refused(trunk, name)


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "checksums.json"])
@pytest.mark.parametrize("content", ["{", "[]", "null"])
def test_a_file_beside_the_shards_that_cannot_be_read(trunk: Path, name: str, content: str) -> None:
    (trunk / name).write_text(content)
    assert "cannot be read" in refused(trunk, name)


def test_a_damaged_tokenizer_is_reported_before_weights_are_converted(trunk: Path) -> None:
    reports: list[str] = []
    (trunk / "tokenizer.json").write_text("{")
    with pytest.raises(ModelDamagedError, match=r"tokenizer\.json is not a tokenizer"):
        load_trunk(ShardsSource(trunk, trunk), "cpu", ModelSettings(), lambda task, _done: reports.append(task))
    assert reports == []


def test_a_config_of_another_size(trunk: Path) -> None:
    config = json.loads((trunk / "config.json").read_text())
    (trunk / "config.json").write_text(json.dumps(config | {"hidden": 96, "vocabulary": 5, "layers": 5}))
    weights = TrunkWeights(trunk)
    with pytest.raises(ModelDamagedError, match=r"layers.0.gate .* is \(128, 64\) and should be \(96, 64\)"):
        weights.read_matrix(0, "gate")
    with pytest.raises(ModelDamagedError, match=r"the embedding .* is \(4, 64\) and should be \(5, 64\)"):
        weights.embedding()
    with pytest.raises(ModelDamagedError, match=r"lack layers\.4\.q\.codes"):
        weights.read_matrix(4, "q")


def test_a_matrix_is_what_is_stored(trunk: Path) -> None:
    weights = TrunkWeights(trunk)
    for name in MATRICES:
        matrix = weights.read_matrix(1, name)
        assert matrix.dtype == np.float32
        assert np.array_equal(matrix, unpack(*weights.read_packed(1, name)))
    kinds = {name.rsplit(".", 1)[-1] for name in json.loads((trunk / folders.INDEX).read_text())["weight_map"]}
    assert {"codes", "scales", "bias", "attention_norm", "mlp_norm", "norm"} <= kinds


def test_the_packages_own_shards_go_first(trunk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    users = tmp_path / "users"
    monkeypatch.setattr(folders, "TRUNK_FOLDER", trunk)
    assert find_trunk(users).folder == trunk
    trunk.rename(users)
    assert find_trunk(users).folder == users


def test_a_missing_trunk_and_a_damaged_one_are_told_apart(
    trunk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "TRUNK_FOLDER", tmp_path / "absent")
    found = find_trunk(tmp_path / "nowhere")
    assert (found.folder, found.damaged) == (None, False)
    assert "not on this machine" in found.user_message
    assert "infill-ls models get" in found.user_message
    (trunk / SECOND).write_bytes(b"")
    found = find_trunk(trunk)
    assert (found.folder, found.damaged) == (None, True)
    assert str(trunk / SECOND) in found.user_message


def test_a_package_without_shards_is_not_damaged(trunk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for shard in trunk.glob("model-*"):
        shard.unlink()
    monkeypatch.setattr(folders, "TRUNK_FOLDER", trunk)
    assert not find_trunk(tmp_path / "nowhere").damaged


def test_a_package_with_part_of_the_shards_and_no_index_is_not_damaged(
    trunk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "TRUNK_FOLDER", trunk)
    (trunk / SECOND).unlink()
    assert find_trunk(tmp_path / "nowhere").damaged
    (trunk / "model.safetensors.index.json").unlink()
    assert not find_trunk(tmp_path / "nowhere").damaged
