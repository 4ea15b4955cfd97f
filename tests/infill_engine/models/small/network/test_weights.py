import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from infill_engine.errors import InputError, ModelDamagedError, ModelNotFoundError
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.quantization.int8_linear import dequantise, quantise
from infill_engine.models.small.network.dual_encoder import DualEncoder
from infill_engine.models.small.network.weights import load_network


def test_int8_keeps_every_entry_within_half_a_level() -> None:
    matrix = torch.randn(20, 33) * torch.logspace(-4, 2, 20)[:, None]
    quantised, scale = quantise(matrix)
    assert ((dequantise(quantised, scale) - matrix).abs() <= scale[:, None] * 0.501).all()


def test_a_network_survives_its_files(network: DualEncoder, model_folder: Path) -> None:
    ids = torch.randint(4, network.config.vocab, (1, 40))
    loaded = load_network(model_folder)
    torch.testing.assert_close(loaded.streams(ids).prefix, network.streams(ids).prefix, atol=0.15, rtol=0.1)


DAMAGE: list[tuple[str, Callable[[Path], object], type[Exception]]] = [
    ("no config", lambda folder: (folder / "config.json").unlink(), ModelNotFoundError),
    ("config is not JSON", lambda folder: (folder / "config.json").write_text("{"), ModelDamagedError),
    ("unknown family", lambda folder: (folder / "config.json").write_text('{"model_type": "x"}'), ModelDamagedError),
    ("config lists code", lambda folder: _edit(folder, auto_map={"AutoModel": "evil.Model"}), ModelDamagedError),
    ("other shape", lambda folder: _edit(folder, dim=64), ModelDamagedError),
    ("more layers than weights", lambda folder: _edit(folder, encoder_layers=3), ModelDamagedError),
    ("no heads", lambda folder: _edit(folder, heads=0), ModelDamagedError),
    ("less than nothing", lambda folder: _edit(folder, dim=-48), ModelDamagedError),
    ("no weights", lambda folder: (folder / "model.safetensors").unlink(), ModelDamagedError),
    ("truncated", lambda folder: _truncate(folder / "model.safetensors"), ModelDamagedError),
    ("a pickle", lambda folder: torch.save({}, folder / "model.safetensors"), ModelDamagedError),
    ("no tokenizer", lambda folder: (folder / "tokenizer.json").unlink(), ModelDamagedError),
]


@pytest.mark.parametrize(("damage", "error"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_damage_is_said_with_a_remedy(
    model_folder: Path, tmp_path: Path, damage: Callable[[Path], object], error: type[Exception]
) -> None:
    folder = shutil.copytree(model_folder, tmp_path / "model")
    damage(folder)
    with pytest.raises(error):
        load_canvas_model(str(folder))


def test_an_intact_folder_loads(model_folder: Path) -> None:
    assert load_canvas_model(str(model_folder)).info.name == "duostream"


def test_a_device_that_is_not_there(model_folder: Path) -> None:
    with pytest.raises(InputError, match="auto"):
        load_canvas_model(str(model_folder), device="tpu")


def _edit(folder: Path, **fields: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])
