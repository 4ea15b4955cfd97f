"""A GGUF file becomes shards: always the same, only the right file, and on from where it stopped."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader, dequantize
from tiny_gguf import DIM, HEADS, HIDDEN, KEPT, KV_HEADS, LAYERS, TOKENS, silent, source_of, with_checksums, write_gguf
from tiny_gguf import write_plan as plan_in

from infill_engine.errors import ModelDamagedError, ModelError, ModelNotFoundError
from infill_engine.models.checkpoint.folder import read_checksums, sha256_of
from infill_engine.models.trunk.files.convert import SHARDS, Plan, convert
from infill_engine.models.trunk.files.shards import shard_name, split
from infill_engine.models.trunk.files.weights import TrunkWeights

NAMES = [shard_name(number, 3) for number in range(3)]


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "given.gguf"
    write_gguf(path)
    return path


@pytest.fixture
def plan(tmp_path: Path, gguf: Path) -> Plan:
    return plan_in(tmp_path / "made-from", source_of(gguf))


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_file_makes_the_same_bytes(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    assert convert(gguf, tmp_path / "one", plan, silent) == NAMES
    convert(gguf, tmp_path / "two", plan, silent)
    first = bytes_in(tmp_path / "one")
    assert first == bytes_in(tmp_path / "two")
    beside = {
        "checksums.json",
        "config.json",
        "importance.safetensors",
        "model.safetensors.index.json",
        "tokenizer.json",
    }
    assert set(first) == {*NAMES, *beside, "model.safetensors.index.json"}
    assert read_checksums(tmp_path / "one") == {name: sha256_of(tmp_path / "one" / name) for name in NAMES}


def test_what_the_shards_hold(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    convert(gguf, tmp_path / "out", plan, silent)
    weights = TrunkWeights(tmp_path / "out")
    config = weights.config
    assert (config.layers, config.dim, config.heads, config.kv_heads) == (LAYERS, DIM, HEADS, KV_HEADS)
    assert (config.hidden, config.head_dim, config.vocabulary) == (HIDDEN, DIM // HEADS, len(KEPT))
    assert (config.rope_theta, config.norm_epsilon) == (1e6, 1e-6)
    tensors = {tensor.name: tensor for tensor in GGUFReader(gguf).tensors}
    for ours, theirs in (("q", "attn_q"), ("down", "ffn_down")):
        tensor = tensors[f"blk.1.{theirs}.weight"]
        exact = dequantize(tensor.data, tensor.tensor_type)
        error = np.square(weights.read_matrix(1, ours) - exact).sum() / np.square(exact).sum()
        assert error < 0.02
    assert (weights.read_vector("layers.0.k.bias") == tensors["blk.0.attn_k.bias"].data).all()
    assert (weights.read_vector("layers.1.mlp_norm") == tensors["blk.1.ffn_norm.weight"].data).all()
    assert (weights.read_vector("norm") == tensors["output_norm.weight"].data).all()


def test_a_row_of_the_embedding_belongs_to_the_token_of_that_text(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    convert(gguf, tmp_path / "out", plan, silent)
    codes, scales = TrunkWeights(tmp_path / "out").embedding()
    rows = codes * scales[:, None]
    head = next(tensor for tensor in GGUFReader(gguf).tensors if tensor.name == "output.weight")
    exact = dequantize(head.data, head.tensor_type)[[TOKENS.index(token) for token in KEPT]]
    assert np.abs(rows - exact).max() < 0.07 * np.abs(exact).max()  # half a step of five bits


def test_a_stopped_conversion_goes_on(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    folder, whole = tmp_path / "out", tmp_path / "whole"
    convert(gguf, whole, plan, silent)

    def stop(doing: str, _share: float) -> None:
        if NAMES[2] in doing:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(gguf, folder, plan, stop)
    assert sorted(path.name for path in folder.glob("model-*")) == NAMES[:2]
    assert convert(gguf, folder, plan, silent) == NAMES[2:]
    assert bytes_in(folder) == bytes_in(whole)
    assert convert(gguf, folder, plan, silent) == []


def test_a_damaged_shard_is_built_again(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    convert(gguf, folder, plan, silent)
    before = bytes_in(folder)
    altered = bytearray(before[NAMES[1]])
    altered[-1] ^= 1
    (folder / NAMES[1]).write_bytes(altered)
    (folder / NAMES[0]).write_bytes(before[NAMES[0]][:-9])
    assert convert(gguf, folder, plan, silent) == NAMES[:2]
    assert bytes_in(folder) == before


def test_shards_of_another_recipe_are_built_again(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    convert(gguf, tmp_path, plan, silent)
    content = json.loads(plan.tokenizer.read_text())
    content["model"]["vocab"] = {"token5": 0, "token6": 1, "token7": 2}
    plan.tokenizer.write_text(json.dumps(content))
    assert convert(gguf, tmp_path, plan, silent) == NAMES
    assert convert(gguf, tmp_path, replace(plan, embedding="b"), silent) == NAMES


def test_a_shard_that_differs_from_the_release_is_refused(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"{NAMES[0]} came out with SHA-256 .* the released one has 0{{64}}"):
        convert(gguf, tmp_path, with_checksums(plan, {NAMES[0]: "0" * 64}), silent)


def test_a_disk_that_fills_up_leaves_no_half_shard(
    gguf: Path, plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        convert(gguf, tmp_path / "out", plan, silent)
    assert not list((tmp_path / "out").glob("*.safetensors"))


def refused(path: Path, plan: Plan, folder: Path) -> str:
    with pytest.raises(ModelError) as caught:
        convert(path, folder, plan, silent)
    assert not folder.exists()
    return str(caught.value)


def test_another_file_is_refused_and_the_right_one_named(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    write_gguf(other, seed=1, name="Another model")
    said = refused(other, plan, tmp_path / "out")
    assert f"{other} is not the file that the default model is made from" in said
    assert "Another model" in said
    assert f"Expected: tiny.gguf, {plan.source.size:,} bytes, SHA-256 {plan.source.sha256}" in said
    assert "https://huggingface.co/some/tiny-GGUF" in said
    assert "--download" in said


def test_half_a_download_is_called_that(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    half = tmp_path / "half.gguf"
    half.write_bytes(gguf.read_bytes()[: plan.source.size // 2])
    assert "the download is probably unfinished" in refused(half, plan, tmp_path / "out")


def test_a_file_of_another_kind(plan: Plan, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>" * 9)
    assert "it is not a GGUF file" in refused(page, plan, tmp_path / "out")
    page.write_text("x" * plan.source.size)
    assert "the same size, but SHA-256" in refused(page, plan, tmp_path / "out")
    with pytest.raises(ModelNotFoundError, match="there is no file"):
        convert(tmp_path / "absent.gguf", tmp_path / "out", plan, silent)


def test_another_architecture(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "llama.gguf"
    said = refused(path, replace(plan, source=write_gguf(path, architecture="llama")), tmp_path / "out")
    assert "the architecture 'llama'" in said


def test_a_tokenizer_with_a_token_that_the_file_lacks(gguf: Path, plan: Plan, tmp_path: Path) -> None:
    content = json.loads(plan.tokenizer.read_text())
    content["added_tokens"][0]["content"] = "<|unheard_of|>"
    plan.tokenizer.write_text(json.dumps(content))
    with pytest.raises(ModelDamagedError, match="1 tokens that given"):
        convert(gguf, tmp_path / "out", plan, silent)


def test_the_parts_are_spread_evenly() -> None:
    shards = split([38, *[9] * 24, 0], SHARDS)
    assert [part for shard in shards for part in shard] == list(range(26))
    sizes = [sum([38, *[9] * 24, 0][part] for part in shard) for shard in shards]
    assert max(sizes) - min(sizes) <= 9


PEAK = """
import resource, sys
from pathlib import Path
import numpy as np
from infill_engine.models.trunk.files.formats import FOUR_BITS, pack
pack(np.zeros((64, 896), np.float32), np.ones(896, np.float32), FOUR_BITS)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
weights = np.random.default_rng(0).standard_normal((4864, 896), np.float32)
pack(weights, np.ones(896, np.float32), FOUR_BITS)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_rounding_a_matrix_takes_little_beside_it() -> None:
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout) < 80  # MB, of which the matrix is 17
