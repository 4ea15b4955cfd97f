"""Weights in few bits: what they take, what they compute, and what is left as it is."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import Publish
from torch import Tensor, nn

from bench.families.masked import stock_network
from bench.families.tiny import byte_level, write
from infill_engine.budget.work import finished
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.checkpoint.files import open_checkpoint
from infill_engine.models.checkpoint.weights import load_weights
from infill_engine.models.quantization.weight_only import PackedLinear, bytes_of, is_packed, pack
from infill_engine.settings import ModelSettings

WIDE = {"hidden_size": 128, "intermediate_size": 256}
STORED = pytest.mark.parametrize("stored", ["int8", "int4"])


def distance(found: Tensor, expected: Tensor) -> float:
    return float((found.float() - expected.float()).norm() / expected.float().norm())


@STORED
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("rows", "columns"), [(256, 128), (48, 96), (100, 64)])
def test_a_packed_layer_computes_what_its_weights_say(stored: str, dtype: torch.dtype, rows: int, columns: int) -> None:
    torch.manual_seed(0)
    weights, bias = torch.randn(rows, columns).to(dtype), torch.randn(rows).to(dtype)
    packed = pack(weights, stored)
    assert distance(packed.unpack(), weights) < (0.012 if stored == "int8" else 0.12)
    layer = PackedLinear(packed, bias)
    for shape in ((columns,), (2, 5, columns), (100, columns)):  # one, some, and more than the kernels are for
        x = torch.randn(shape).to(dtype)
        expected = nn.functional.linear(x.float(), packed.unpack().float(), bias.float())
        assert layer(x).shape == expected.shape
        assert distance(layer(x), expected) < 0.01


def test_large_activations_do_not_overflow_in_half_precision() -> None:
    layer = PackedLinear(pack(torch.ones(16, 64, dtype=torch.float16), "int8"), None)
    assert layer(torch.full((1, 64), 100.0, dtype=torch.float16)).tolist() == [[6400.0] * 16]


def test_what_is_read_by_row_stays_as_it_is() -> None:
    layer = "model.layers.0."
    assert is_packed(layer + "mlp.gate_proj.weight", (64, 64))
    assert not is_packed("model.embed_tokens.weight", (64, 64))
    assert not is_packed(layer + "input_layernorm.weight", (64,))
    assert not is_packed(layer + "mlp.up_proj.weight", (64, 40))


def held(network: nn.Module) -> int:
    """Bytes of every tensor that a network holds on to, but for the small tables that no checkpoint has."""
    tensors = [*network.parameters(), *(value for name, value in network.named_buffers() if "rotary" not in name)]
    return sum({tensor.data_ptr(): tensor.nbytes for tensor in tensors}.values())


@STORED
def test_a_network_takes_what_the_arithmetic_says(stored: str, tmp_path: Path) -> None:
    network = stock_network("qwen2", **WIDE)
    folder = write(tmp_path / "m", {"model_type": "qwen2"}, network, byte_level([]))
    checkpoint = open_checkpoint(folder)
    loaded = load_weights(stock_network("qwen2", **WIDE), checkpoint, "cpu", torch.bfloat16, stored=stored)
    said = checkpoint.bytes_in(torch.bfloat16, stored)
    assert said == held(loaded)
    assert said < 0.68 * checkpoint.bytes_in(torch.bfloat16)


def test_the_arithmetic() -> None:
    shapes = {"model.embed_tokens.weight": (100, 64), "model.layers.0.mlp.up_proj.weight": (128, 64), "norm": (64,)}
    assert bytes_of(shapes, 2) == 2 * (6400 + 8192 + 64)
    assert bytes_of(shapes, 2, "int8") == 2 * (6400 + 64) + 8192 + 2 * 128
    assert bytes_of(shapes, 2, "int4") == 2 * (6400 + 64) + 8192 // 2 + 4 * 8192 // 64


@pytest.mark.parametrize(("stored", "least"), [("int8", 0.999), ("int4", 0.97)])
def test_a_family_says_nearly_the_same(stored: str, least: float, publish: Publish) -> None:
    folder = publish("dream", stock_network("qwen2"))
    exact, small = (_logits(folder, precision) for precision in ("fp32", stored))
    likeness = torch.cosine_similarity(exact, small, -1)
    assert float(likeness.min()) > least - 0.05
    assert float(likeness.mean()) > least


def _logits(folder: Path, precision: str) -> Tensor:
    family: Any = load_canvas_model(str(folder), "cpu", ModelSettings(dtype=precision))
    canvas = lay_out([4, 2], family.info.mask_id)
    found: Tensor = family.denoise(finished(family.encode("x = [", "]\n")), canvas, np.arange(6))
    return found
