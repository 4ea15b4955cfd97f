"""Checkpoints that are damaged, foreign or too large are refused before a weight is read, with what to do."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from conftest import Publish
from safetensors.torch import load_file, save_file

from bench.families.masked import stock_network
from bench.families.tiny import byte_level
from infill_engine.errors import InputError, ModelDamagedError, ModelError
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.checkpoint import files as files
from infill_engine.models.model_loading import load_model
from infill_engine.models.runtime import memory
from infill_engine.settings import ModelSettings


@pytest.fixture(scope="module")
def sound(publish: Publish) -> Path:
    return publish("dream", stock_network("qwen2"))


def _edit(folder: Path, **fields: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def _shards(folder: Path) -> list[Path]:
    """The weights as two files with an index, as large models are published."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, held in parts.items():
        save_file({name: tensors[name] for name in held}, folder / file)
    where = {name: file for file, held in parts.items() for name in held}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    return [folder / file for file in parts]


def _pickle(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def _without_a_tensor(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.norm.weight"]
    save_file(tensors, folder / "model.safetensors")


def _with_another_tensor(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    save_file(tensors | {"model.experts.weight": torch.zeros(2)}, folder / "model.safetensors")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


DAMAGE: list[tuple[str, Callable[[Path], object], str]] = [
    ("a shard is missing", lambda folder: _shards(folder)[1].unlink(), "lacks model-00002-of-00002.*fetch"),
    ("a shard is cut short", lambda folder: _cut(_shards(folder)[1]), "cut short.*fetch"),
    ("the index is no JSON", lambda f: (_shards(f), (f / files.INDEX).write_text("{")), "index.json cannot be read"),
    ("only a pickle", _pickle, "runs whatever code is in it"),
    ("a tensor is missing", _without_a_tensor, r"lacks model\.norm\.weight"),
    ("a tensor too many", _with_another_tensor, r"model\.experts\.weight.*another kind of model"),
    ("another shape", lambda folder: _edit(folder, intermediate_size=80), "has the shape"),
    ("no whole number", lambda folder: _edit(folder, hidden_size="48"), "not a positive number"),
    ("layers without end", lambda folder: _edit(folder, num_hidden_layers=10**9), "is 1000000000, and there are only"),
    ("heads that do not divide", lambda folder: _edit(folder, num_attention_heads=5), "shape|describe"),
    ("another activation", lambda folder: _edit(folder, hidden_act="relu"), "'relu'; this version knows only 'silu'"),
    ("quantised by others", lambda folder: _edit(folder, quantization_config={"quant_method": "gptq"}), "gptq"),
    ("another mask", lambda folder: _edit(folder, mask_token_id=3), "says that the mask is token 3"),
    ("no mask", lambda f: byte_level(["<|endoftext|>"]).save(str(f / "tokenizer.json")), r"lacks <\|mask\|>"),
    ("no tokenizer", lambda folder: (folder / "tokenizer.json").unlink(), "not a tokenizer"),
    ("unknown type", lambda f: _edit(f, model_type="mamba", auto_map=None), "mamba.*knows only Dream"),
    ("unknown type with code", lambda f: _edit(f, model_type="x"), r"code of its own \(modeling_dream.py\)"),
    ("no object", lambda folder: (folder / "config.json").write_text("[]"), "has no model type"),
]


@pytest.mark.parametrize(("damage", "said"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_what_is_wrong_is_said_with_a_remedy(
    sound: Path, tmp_path: Path, damage: Callable[[Path], object], said: str
) -> None:
    folder = shutil.copytree(sound, tmp_path / "model")
    damage(folder)
    with pytest.raises(ModelDamagedError, match=f"(?s){said}"):
        load_canvas_model(str(folder), "cpu")


@pytest.mark.parametrize(
    ("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)]
)
def test_a_checkpoint_in_parts_loads_in_every_precision(
    sound: Path, tmp_path: Path, name: str, dtype: torch.dtype
) -> None:
    folder = shutil.copytree(sound, tmp_path / "model")
    _shards(folder)
    family: Any = load_canvas_model(str(folder), "cpu", ModelSettings(dtype=name))
    assert family._backbone._network.lm_head.weight.dtype is dtype
    assert family._backbone._network.model.rotary_emb.inv_freq.dtype is torch.float32


def test_an_unknown_precision_is_refused(sound: Path) -> None:
    with pytest.raises(InputError, match=r"auto.*fp32, bf16, fp16, int8, int4"):
        load_canvas_model(str(sound), "cpu", ModelSettings(dtype="int3"))


def test_stock_models_with_code_of_their_own_are_refused(sound: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(sound, tmp_path / "model")
    names = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
    byte_level(names).save(str(folder / "tokenizer.json"))
    _edit(folder, model_type="qwen2")
    with pytest.raises(ModelDamagedError, match="never runs code from a checkpoint"):
        load_model(str(folder), "cpu")


def test_what_does_not_fit_is_refused_before_it_is_read(sound: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = files.open_checkpoint(sound)
    needed = checkpoint.parameters * 4
    assert memory.free_memory("cpu") > 0

    def require(free: int, dtype: torch.dtype, stored: str = "") -> None:
        monkeypatch.setattr(memory, "free_memory", lambda _device: free)
        memory.require_memory(checkpoint, "cpu", dtype, stored)

    require(2 * needed, torch.float32)
    with pytest.raises(ModelError, match=r"precision bf16 takes"):
        require(needed, torch.float32)
    smallest = int(checkpoint.bytes_in(torch.bfloat16, "int4") * memory.OVERHEAD)
    with pytest.raises(ModelError, match=r"precision int4 takes"):
        require(smallest, torch.bfloat16)
    with pytest.raises(ModelError, match=r"not fit even with the precision int4"):
        require(needed // 4, torch.bfloat16, "int8")
    require(needed, torch.bfloat16)
