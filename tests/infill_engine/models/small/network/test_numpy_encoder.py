"""The encoder in numpy computes what the one in torch does."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from infill_engine.models.quantization.int8_kernels import KERNELS, is_exact
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.dual_encoder import DualEncoder
from infill_engine.models.small.network.layers import KeysValues
from infill_engine.models.small.network.numpy_encoder import NarrowEncoder, is_narrow
from infill_engine.models.small.network.weights import load_network, save_network

CONFIG = DualEncoderConfig(vocab=64, dim=64, heads=4, hidden=96, encoder_layers=3, decoder_layers=1, ngram_slots=32)
KNOWN, NEW = 21, 5


@pytest.fixture
def network(tmp_path: Path, request: pytest.FixtureRequest) -> DualEncoder:
    """One whose every weight matters, through its files."""
    torch.manual_seed(0)
    made = DualEncoder(CONFIG)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.15) if parameter.ndim == 2 else torch.nn.init.uniform_(parameter, 0.5, 2)
    save_network(made, tmp_path)
    loaded = load_network(tmp_path, kernel=request.param)
    loaded.join()
    return loaded


@pytest.mark.parametrize("network", [None, *filter(is_exact, KERNELS)], indirect=True)
@pytest.mark.parametrize("together", [True, False], ids=["one position", "one after the other"])
@torch.inference_mode()
def test_numpy_computes_what_torch_does(network: DualEncoder, together: bool) -> None:
    assert is_narrow(network)
    narrow = NarrowEncoder(network)
    positions = torch.tensor([KNOWN]) if together else torch.arange(KNOWN, KNOWN + NEW)
    x, tables, hidden = torch.randn(1, NEW, CONFIG.dim), network.rotary(positions), _hidden(together=together)
    rooms = _room(), _room()
    theirs = network.write(x, tables, rooms[0], KNOWN, hidden)
    ours = narrow.write(x, tables, rooms[1], KNOWN, hidden)
    torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-3)
    for room, other in zip(*rooms, strict=True):
        torch.testing.assert_close(room, other, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("network", [None], indirect=True)
@torch.inference_mode()
def test_what_is_hidden_is_not_seen(network: DualEncoder) -> None:
    assert is_narrow(network)
    narrow = NarrowEncoder(network)
    x, tables = torch.randn(1, NEW, CONFIG.dim), network.rotary(torch.tensor([KNOWN]))
    states = narrow.write(x, tables, _room(), KNOWN, _hidden(together=True))
    alone = narrow.write(x[:, 2:3], tables, _room(), KNOWN, torch.zeros(1, 1, 1, KNOWN + 1))
    torch.testing.assert_close(states[:, 2:3], alone, atol=1e-5, rtol=1e-4)


def test_only_a_joined_network_in_float32_has_one(tmp_path: Path) -> None:
    save_network(DualEncoder(CONFIG), tmp_path)
    network = load_network(tmp_path)
    assert not is_narrow(network)
    network.join()
    assert is_narrow(network)
    halved = load_network(tmp_path, torch.bfloat16)
    halved.join()
    assert not is_narrow(halved)


def _room() -> list[KeysValues]:
    torch.manual_seed(1)
    shape = CONFIG.encoder_layers, 2, 1, CONFIG.heads, KNOWN + NEW + 6, CONFIG.head_dim
    return [(keys, values) for keys, values in torch.randn(shape)]


def _hidden(*, together: bool) -> Tensor:
    """What is known is seen by all; of the new, each sees itself, and what stands before unless all stand together."""
    hidden = torch.full((1, 1, NEW, KNOWN + NEW + 6), -1e9)
    hidden[..., :KNOWN] = 0
    seen = torch.eye(NEW) if together else torch.ones(NEW, NEW).tril()
    hidden[0, 0, :, KNOWN : KNOWN + NEW][seen > 0] = 0
    return hidden
