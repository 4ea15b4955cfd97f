"""Mask rows after real rows: served as they were trained, on every backend, and without a trace in real rows."""

from functools import cache
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import tiny_gguf
import torch
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.errors import ModelDamagedError
from infill_engine.models.trunk import torch_loading
from infill_engine.models.trunk.backends.interface import LIKELIEST
from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.backends.torch_blocks import TorchBlocks
from infill_engine.models.trunk.backends.torch_products import FloatProducts
from infill_engine.models.trunk.denoiser import DENOISER, Denoised, Denoiser
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.files.shards import map_shard, write_shard
from infill_engine.models.trunk.graph import build_graph
from infill_engine.models.trunk.graph_heads import GraphWeights
from infill_engine.models.trunk.prepared import prepare
from infill_engine.models.trunk.products import BY_PLUGIN, IN_GRAPH
from infill_engine.models.trunk.slots import NO_BLOCKS, SLOTS, Blocks, Rows
from infill_engine.models.trunk.sources import Parts, ShardsSource
from infill_engine.models.trunk.trunk_loading import load_trunk
from infill_engine.settings import ModelSettings
from train.mask_rows.export import export, restore
from train.mask_rows.layout import Blocks as LearnedBlocks
from train.mask_rows.rows import block_states
from train.mask_rows.weights import new_weights
from train.trunk.frozen import load_frozen
from train.trunk.network import products_of

FIRST_LAYER, WORDS, ACCEPTED = 2, 40, [0.5] * 7
TOKENS = [50, 7, 3, 9, 22, 11, 4, 30, 31, 17, 2, 5, 8, 13, 21]
BLOCKS = Blocks([14, 4, 9], [7, 3, 1])


def new_source(folder: Path) -> ShardsSource:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
        made_from = write_gguf(folder / "tiny.gguf")
        convert(folder / "tiny.gguf", folder / "trunk", write_plan(folder / "made-from", made_from), silent)
    (folder / "trained").mkdir()
    return ShardsSource(folder / "trunk", folder / "trained")


VOCABULARY = torch.arange(5, 5 + WORDS)


def drawn_weights(source: ShardsSource) -> dict[str, torch.Tensor]:
    trunk = load_frozen(source.folder, source.trained, dtype=torch.float32)
    generator = torch.Generator().manual_seed(3)
    made = new_weights(trunk, FIRST_LAYER, WORDS)
    return {name: each + torch.randn(each.shape, generator=generator) * 0.1 for name, each in made.items()}


@pytest.fixture
def source(tmp_path: Path) -> ShardsSource:
    return new_source(tmp_path)


@pytest.fixture
def weights(source):
    return drawn_weights(source)


@pytest.fixture
def denoiser(source, weights):
    export(weights, VOCABULARY, source, ACCEPTED, source.trained / DENOISER)
    return source.denoiser()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Makes each backend once, with the weights of the same source."""
    source = new_source(tmp_path_factory.mktemp("source"))
    export(drawn_weights(source), VOCABULARY, source, ACCEPTED, source.trained / DENOISER)
    return cache(lambda make: make(source, source.denoiser()))


def floats(source, denoiser):
    network = torch_loading.build_network(source.open())
    head = source.open().weights.embedding()
    blocks = TorchBlocks.of(denoiser, network, head, FloatProducts("cpu", torch.float32).of_rows)
    return TorchBackend(network, blocks=blocks)


def openvino(source, denoiser, products=BY_PLUGIN):
    graph = build_graph(GraphWeights(source.config, prepare(source, silent), products, denoiser))
    return OpenVinoBackend(Parts(source, denoiser), graph, 2)


def openvino_in_graph(source, denoiser):
    return openvino(source, denoiser, IN_GRAPH)


def mlx(source, denoiser):
    backend = pytest.importorskip("infill_engine.models.trunk.backends.mlx_backend")
    return backend.MlxBackend(source.open(), "float32", denoiser)


def rows_of(tokens, blocks=NO_BLOCKS):
    seen = np.tril(np.ones((SLOTS, SLOTS), np.bool_))[: len(tokens)]
    return Rows(tokens, range(len(tokens)), range(len(tokens)), seen, 0, blocks)


def dense(found: Denoised):
    """The log-probabilities of all selected words [M, W]; the others are left at -20."""
    result = np.full((len(found.words), WORDS), -20.0, np.float32)
    np.put_along_axis(result, found.words, found.logprobs, 1)
    return result


def trained_logprobs(source, weights):
    """What the trainer computes for the same blocks."""
    trunk = load_frozen(source.folder, source.trained, dtype=torch.float32)
    blocks = LearnedBlocks(torch.tensor(TOKENS), torch.tensor(BLOCKS.anchors), *[torch.zeros(0)] * 5)
    states = block_states(trunk, products_of(trunk), weights, blocks)
    return torch.log_softmax(states @ trunk.embedding[VOCABULARY].T, -1), states


def test_mask_rows_are_served_as_they_were_trained(source, weights, denoiser):
    expected, states = trained_logprobs(source, weights)
    backend = floats(source, denoiser)
    found = backend.run(backend.new_buffer(), rows_of(TOKENS, Blocks(BLOCKS.anchors, [7, 7, 7])), 0).denoised
    wanted = np.take_along_axis(expected.numpy(), found.words, 1)
    assert np.abs(found.logprobs - wanted).mean() < 0.05  # the served weights are rounded to eight bits
    doubt = (states @ weights["confidence.weight"][:-1]).numpy()
    assert np.abs(found.confidence - doubt).mean() < 0.05


@pytest.mark.parametrize("make", [openvino, openvino_in_graph, mlx])
def test_every_backend_proposes_the_same(made, make):
    reference, backend = made(floats), made(make)
    expected = reference.run(reference.new_buffer(), rows_of(TOKENS, BLOCKS), 0).denoised
    found = backend.run(backend.new_buffer(), rows_of(TOKENS, BLOCKS), 0).denoised
    assert found.words.shape == (len(BLOCKS), LIKELIEST)
    assert np.abs(dense(found) - dense(expected))[dense(expected) > -20].mean() < 0.3
    assert np.abs(found.confidence - expected.confidence).mean() < 0.1


@pytest.mark.parametrize("make", [floats, openvino, openvino_in_graph, mlx])
def test_real_rows_do_not_notice_mask_rows(made, make):
    backend, found = made(make), []
    for blocks in (NO_BLOCKS, Blocks([4, 13], [7, 2])):
        buffer = backend.new_buffer()
        first = backend.run(buffer, rows_of(TOKENS[:-1], blocks), 0)
        last = rows_of(TOKENS)
        one = Rows(last.ids[-1:], last.positions[-1:], last.slots[-1:], last.seen[-1:], 0)
        found.append(np.concatenate([first.logprobs, backend.run(buffer, one, 0).logprobs]))
    np.testing.assert_allclose(found[1], found[0], atol=1e-5)


@pytest.mark.parametrize("make", [floats, openvino, openvino_in_graph, mlx])
def test_a_block_does_not_notice_other_blocks(made, make):
    backend = made(make)
    together = backend.run(backend.new_buffer(), rows_of(TOKENS, BLOCKS), 0).denoised
    for number, (anchor, width) in enumerate(zip(BLOCKS.anchors, BLOCKS.widths, strict=True)):
        alone = backend.run(backend.new_buffer(), rows_of(TOKENS, Blocks([anchor], [width])), 0).denoised
        np.testing.assert_allclose(alone.logprobs, together.logprobs[BLOCKS.rows(number)], atol=1e-4)


def test_a_run_begins_with_exported_weights(source, weights, denoiser):
    begun, vocabulary = restore(source.trained / DENOISER)
    assert begun.keys() == weights.keys()
    torch.testing.assert_close(vocabulary, VOCABULARY)
    for name, tensor in weights.items():
        largest = float(tensor.abs().max()) or 1.0
        torch.testing.assert_close(begun[name], tensor, atol=0.02 * largest, rtol=0)


def test_choices_follow_the_token_before(source, weights):
    weights["markov.before"].zero_()
    weights["markov.after"].zero_()
    weights["markov.before"][3, 0] = 8.0
    weights["markov.after"][17, 0] = 8.0
    export(weights, VOCABULARY, source, ACCEPTED, source.trained / DENOISER)
    denoiser = source.denoiser()
    words = np.tile(np.array([1, 17, 3, *range(18, 39)]), (2, 1))
    denoised = Denoised(words, np.log(np.full(words.shape, 1 / 30, np.float32)), np.zeros(2, np.float32))
    plain = [choice.token - 5 for choice in denoiser.text_after(denoised, slice(0, 2), 5)]
    after = [choice.token - 5 for choice in denoiser.text_after(denoised, slice(0, 2), 8)]
    assert (plain, after) == ([1, 1], [17, 1])
    assert all(choice.logprob <= 0 for choice in denoiser.text_after(denoised, slice(0, 2), 8))


def test_a_block_without_numbers_proposes_nothing(denoiser):
    broken = Denoised(np.zeros((2, 3), np.int64), np.full((2, 3), np.nan, np.float32), np.zeros(2, np.float32))
    assert denoiser.text_after(broken, slice(0, 2), 5) == []


def damaged(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_another_trunk(path):
    write_shard(path, map_shard(path), "another recipe")


@pytest.mark.parametrize("spoil", [damaged, of_another_trunk, lambda path: path.write_bytes(b"")])
def test_a_denoiser_that_cannot_be_used_is_named_and_the_model_serves(source, denoiser, spoil):
    spoil(source.trained / DENOISER)
    with pytest.raises(ModelDamagedError, match=DENOISER):
        source.denoiser()


def test_a_denoiser_of_other_sizes_is_refused(source, denoiser):
    arrays = dict(denoiser.arrays)
    with pytest.raises(ModelDamagedError, match="does not fit"):
        Denoiser(arrays | {"entry.codes": arrays["entry.codes"][:-1]}, source.config)
    del arrays["mask"]
    with pytest.raises(ModelDamagedError, match="mask"):
        Denoiser(arrays, source.config)


def test_without_a_file_there_are_no_blocks(source):
    assert source.denoiser() is None


@pytest.mark.parametrize("dtype", ["auto", "fp32"])
def test_a_model_loads_with_its_denoiser_and_without_a_damaged_one(source, denoiser, monkeypatch, tmp_path, dtype):
    monkeypatch.setattr("infill_engine.models.trunk.trunk_loading.prepared_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(ShardsSource, "vocabulary", lambda _self: Mock())
    loaded = load_trunk(source, "cpu", ModelSettings(dtype=dtype), silent)
    assert loaded.denoiser is not None
    assert not loaded.user_message
    damaged(source.trained / DENOISER)
    loaded = load_trunk(source, "cpu", ModelSettings(dtype=dtype), silent)
    assert loaded.denoiser is None
    assert DENOISER in loaded.user_message
