"""A tiny network with random weights and a small tokenizer: the true architecture, made in a second."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from infill_engine.models.small.backends.torch_backend import TorchBackend
from infill_engine.models.small.model import SmallModel
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.dual_encoder import DualEncoder
from infill_engine.models.small.network.weights import save_network
from infill_engine.models.small.vocabulary import BytesVocabulary
from train.corpus.tokenizer import train

ENGINE = Path(__file__).parents[1] / "infill_engine"


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train((path.read_text() for path in sorted(ENGINE.rglob("*.py"))), vocab=700)


@pytest.fixture(scope="session")
def tokenizer_path(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@pytest.fixture(scope="session")
def network(tokenizer: Tokenizer) -> DualEncoder:
    torch.manual_seed(0)
    config = DualEncoderConfig(
        vocab=tokenizer.get_vocab_size(), dim=32, heads=2, hidden=48, encoder_layers=2, decoder_layers=2, ngram_slots=64
    )
    network = DualEncoder(config).eval().requires_grad_(False)
    for parameter in network.parameters():  # nothing may stay at zero, or a wrong term would change nothing
        parameter.add_(0.2 * torch.randn_like(parameter))
    return network


@pytest.fixture
def family(network: DualEncoder, tokenizer_path: Path) -> SmallModel:
    return SmallModel(TorchBackend(network, "cpu"), BytesVocabulary(tokenizer_path))


@pytest.fixture(scope="session")
def model_folder(network: DualEncoder, tokenizer_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    save_network(network, folder)
    (folder / "tokenizer.json").write_bytes(tokenizer_path.read_bytes())
    return folder
