"""The same shards through torch in float32, OpenVINO in int8 and MLX; with and without an adapter."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tiny_gguf
from tiny_gguf import KV_HEADS, LAYERS, silent, write_gguf, write_plan

from infill_engine.errors import ModelDamagedError
from infill_engine.models.trunk import torch_loading
from infill_engine.models.trunk.adapter import ADAPTER, Adapter
from infill_engine.models.trunk.backends.interface import LIKELIEST, likeliest
from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend, in_largest_blocks
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.graph import build_graph
from infill_engine.models.trunk.graph_heads import BLOCK, GraphWeights
from infill_engine.models.trunk.merged import MergedWeights
from infill_engine.models.trunk.prepared import prepare
from infill_engine.models.trunk.products import BY_PLUGIN, IN_GRAPH, Products
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.models.trunk.slots import MIDDLE, PREFIX, SUFFIX, TEXTS, Rows, joined, prompt_rows, text_rows
from infill_engine.models.trunk.smoothing import Smoothing
from infill_engine.models.trunk.sources import Parts, ShardsSource

PROMPT = Prompt((50, 7, 3, 9, 22), (50, 11, 4), (50, 30, 31), (50, 17, 2))
TEXT = [5, 8, 13]


def tiny_weights(folder: Path) -> TrunkWeights:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
        source = write_gguf(folder / "tiny.gguf")
        convert(folder / "tiny.gguf", folder / "trunk", write_plan(folder / "made-from", source), silent)
    return TrunkWeights(folder / "trunk")


@pytest.fixture
def weights(tmp_path: Path) -> TrunkWeights:
    return tiny_weights(tmp_path)


@pytest.fixture
def adapter() -> Adapter:
    return some_adapter()


def some_adapter() -> Adapter:
    generator = np.random.default_rng(5)
    sizes = {"qkv": (64 + 2 * KV_HEADS * 16, 64), "out": (64, 64), "gate_up": (256, 64), "down": (64, 128)}
    return Adapter(
        {
            f"layers.{layer}.{name}": (
                generator.normal(size=(size[0], 2)).astype(np.float32) / 4,
                generator.normal(size=(2, size[1])).astype(np.float32) / 4,
            )
            for layer in range(LAYERS)
            for name, size in sizes.items()
        }
    )


def floats(weights: TrunkWeights, adapter: Adapter) -> TorchBackend:
    return TorchBackend(torch_loading.build_network(MergedWeights(weights, adapter, Smoothing.load(weights.folder))))


def source_with(weights: TrunkWeights, adapter: Adapter) -> ShardsSource:
    trained = weights.folder.with_name("trained")
    trained.mkdir(exist_ok=True)
    adapter.save(trained)
    return ShardsSource(weights.folder, trained)


def openvino(weights: TrunkWeights, adapter: Adapter, products: Products = BY_PLUGIN) -> OpenVinoBackend:
    source = source_with(weights, adapter)
    return OpenVinoBackend(
        Parts(source), build_graph(GraphWeights(source.config, prepare(source, silent), products)), 2
    )


INT8 = [pytest.param(partial(openvino, products=products), id=products.name) for products in (BY_PLUGIN, IN_GRAPH)]


def rows_of(prompt: Prompt):
    starts = ((SUFFIX - len(prompt.head), prompt.head), (PREFIX, prompt.prefix), (SUFFIX, prompt.suffix))
    slots = [first + at for first, part in (*starts, (MIDDLE, prompt.middle)) for at in range(len(part))]
    texts = [*range(TEXTS, TEXTS + len(TEXT))]
    parents = [texts[:at] for at in range(len(TEXT))]
    return joined(prompt_rows(prompt, slots), text_rows(prompt, TEXT, range(len(TEXT)), texts, parents))


def one_of(rows, at):
    only = slice(at, at + 1)
    return Rows(rows.ids[only], rows.positions[only], rows.slots[only], rows.seen[only], rows.first)


def run(backend, *, one_by_one: bool = False):
    rows, buffer = rows_of(PROMPT), backend.new_buffer()
    if not one_by_one:
        return backend.run(buffer, rows, 0)
    found = []
    for at in range(len(rows)):
        single = one_of(rows, at)
        found.append(backend.run(buffer, single, 0).logprobs[0])
    return np.stack(found)


@pytest.mark.parametrize("with_adapter", [False, True])
def test_mlx_computes_what_torch_computes(weights, adapter, with_adapter):
    mlx = pytest.importorskip("infill_engine.models.trunk.backends.mlx_backend")
    used = adapter if with_adapter else Adapter()
    expected, found = run(floats(weights, used)), run(mlx.MlxBackend(MergedWeights(weights, used), "float32"))
    np.testing.assert_allclose(found.logprobs, expected.logprobs, atol=1e-3)
    np.testing.assert_array_equal(found.likeliest[:, 0], expected.likeliest[:, 0])


def test_mlx_rotates_keys_as_torch_does(weights):
    mlx = pytest.importorskip("infill_engine.models.trunk.backends.mlx_backend")
    found = []
    for backend in (floats(weights, Adapter()), mlx.MlxBackend(MergedWeights(weights), "float32")):
        buffer, rows = backend.new_buffer(), rows_of(PROMPT)
        backend.run(buffer, rows, 0)
        backend.rotate(buffer, slice(SUFFIX, SUFFIX + len(PROMPT.suffix)), 5)
        found.append(backend.run(buffer, one_of(rows, len(rows) - 1), 0).logprobs)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)


def test_mlx_in_eight_bits_is_near(weights):
    mlx = pytest.importorskip("infill_engine.models.trunk.backends.mlx_backend")
    expected = run(floats(weights, Adapter()))
    found = run(mlx.MlxBackend(MergedWeights(weights), "float16"))
    assert np.abs(found.logprobs - expected.logprobs).mean() < 0.02


@pytest.mark.parametrize("int8", INT8)
def test_int8_is_near_and_a_row_is_what_it_is_among_others(weights, adapter, int8):
    """Otherwise equal requests would not have equal answers: how many rows share a pass depends on the time left."""
    backend = int8(weights, adapter)
    together = run(backend)
    assert np.abs(together.logprobs - run(floats(weights, adapter)).logprobs).mean() < 0.1
    np.testing.assert_allclose(run(backend, one_by_one=True), together.logprobs, atol=2e-3)


@pytest.mark.parametrize("int8", INT8)
def test_smoothing_changes_nothing_but_what_rounding_costs(weights, adapter, int8, monkeypatch):
    wide = {}
    for layer in range(LAYERS):
        for name, size in (("attention", 64), ("mlp", 64), ("down", 128)):
            wide[f"layers.{layer}.{name}"] = np.logspace(-3, 3, size)
    plain, plain_int8 = run(floats(weights, adapter)), run(int8(weights, adapter))
    monkeypatch.setattr(Smoothing, "load", lambda _folder: Smoothing(wide))
    smoothed, smoothed_int8 = run(floats(weights, adapter)), run(int8(weights, adapter))
    np.testing.assert_allclose(smoothed.logprobs, plain.logprobs, atol=1e-3)
    assert not np.array_equal(plain_int8.logprobs, smoothed_int8.logprobs)


def test_openvino_moves_keys_as_torch_does(weights, adapter):
    found = []
    for backend in (floats(weights, adapter), openvino(weights, adapter)):
        buffer, other, rows = backend.new_buffer(), backend.new_buffer(), rows_of(PROMPT)
        backend.run(buffer, rows, 0)
        backend.rotate(buffer, slice(SUFFIX, SUFFIX + len(PROMPT.suffix)), 5)
        backend.copy_from(other, buffer, slice(0, TEXTS))
        backend.copy(other, [TEXTS + 1], TEXTS)
        backend.copy_from(other, buffer, slice(TEXTS + 1, TEXTS + 2))
        found.append(backend.run(other, one_of(rows, len(rows) - 1), 0).logprobs)
    assert np.abs(found[0] - found[1]).mean() < 0.1


def test_the_likeliest_tokens_are_found_in_blocks():
    logprobs = np.random.default_rng(3).normal(size=(5, 40 * BLOCK)).astype(np.float32)
    logprobs[0, 700:740] = 9.0  # many that are equal
    expected = np.argsort(-logprobs, axis=1, kind="stable")[:, :LIKELIEST]
    for among in (in_largest_blocks(logprobs.reshape(5, -1, BLOCK).max(2)), None):
        found = likeliest(logprobs, among)
        np.testing.assert_array_equal(found[1:], expected[1:])
        np.testing.assert_array_equal(np.take_along_axis(logprobs, found, 1), np.take_along_axis(logprobs, expected, 1))


def test_an_adapter_is_kept_in_its_file(weights, adapter, tmp_path):
    adapter.save(tmp_path)
    before, after = run(floats(weights, adapter)), run(floats(weights, Adapter.load(tmp_path)))
    plain = run(floats(weights, Adapter()))
    assert np.abs(after.logprobs - before.logprobs).mean() < 0.05 * np.abs(plain.logprobs - before.logprobs).mean()


def test_no_file_is_no_adapter(tmp_path):
    matrix = np.ones((2, 2), np.float32)
    assert Adapter.load(tmp_path).merged("layers.0.out", matrix) is matrix


@pytest.mark.parametrize("content", [b"", b"no tensors", b"\x10\0\0\0\0\0\0\0{}"])
def test_a_damaged_adapter_is_named(tmp_path, content):
    (tmp_path / ADAPTER).write_bytes(content)
    with pytest.raises(ModelDamagedError, match=ADAPTER):
        Adapter.load(tmp_path)


def test_an_adapter_of_another_trunk_is_refused():
    adapter = Adapter({"layers.0.out": (np.ones((3, 1), np.float32), np.ones((1, 2), np.float32))})
    with pytest.raises(ModelDamagedError, match=r"layers\.0\.out"):
        adapter.merged("layers.0.out", np.ones((2, 2), np.float32))
