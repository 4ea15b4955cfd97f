"""The edit adapter: next edits have its terms and completions do not, and files that cannot be used."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_backends import BY_PLUGIN, IN_GRAPH, PROMPT, Adapter, adapter, rows_of, source_with, weights  # noqa: F401

from infill_engine.budget.work import finished
from infill_engine.errors import ModelDamagedError
from infill_engine.models.trunk import trunk_loading
from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.backends.torch_products import FloatProducts
from infill_engine.models.trunk.edit_adapter import EDIT_ADAPTER, EditAdapter
from infill_engine.models.trunk.files.shards import write_shard
from infill_engine.models.trunk.graph import build_graph
from infill_engine.models.trunk.graph_heads import GraphWeights
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prepared import prepare
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.models.trunk.smoothing import Smoothing
from infill_engine.models.trunk.soft_prompt import SoftPrompt
from infill_engine.models.trunk.sources import Parts
from infill_engine.models.trunk.torch_loading import build_network, with_terms
from infill_engine.settings import ModelSettings

RANK = 3
COMPLETION = replace(PROMPT, head=())
EDIT = Prompt((50, 8, 8, 3, 9, 22, 1), (), (6,))


def terms(config, rank=RANK) -> dict[str, np.ndarray]:
    """Random low-rank terms that change every prediction."""
    drawn, made = np.random.default_rng(7), {}
    for layer in range(config.layers):
        for name, (out, width) in config.joined_shapes.items():
            made[f"layers.{layer}.{name}.down"] = (drawn.normal(size=(rank, width)) / 3).astype(np.float16)
            made[f"layers.{layer}.{name}.up"] = (drawn.normal(size=(out, rank)) / 2).astype(np.float16)
    return made


def floats(source, edit_adapter):
    network = build_network(source.open())
    if edit_adapter is None:
        return TorchBackend(network)
    return TorchBackend(network, adapted=with_terms(network, edit_adapter, FloatProducts("cpu", torch.float32)))


def mlx(source, edit_adapter):
    module = pytest.importorskip("infill_engine.models.trunk.backends.mlx_backend")
    return module.MlxBackend(replace(source.open(), smooths=False), "float32", edit_adapter=edit_adapter)


def openvino(source, edit_adapter, products=BY_PLUGIN):
    terms = None if edit_adapter is None else edit_adapter.in_floats()
    arrays = prepare(source, lambda *_: None)
    graph = build_graph(GraphWeights(source.config, arrays, products, terms=terms))
    return OpenVinoBackend(Parts(source, edit_adapter=edit_adapter), graph, 2)


def openvino_in_graph(source, edit_adapter):
    return openvino(source, edit_adapter, IN_GRAPH)


BACKENDS = [floats, mlx, openvino, openvino_in_graph]


@pytest.fixture
def source(weights, adapter):  # noqa: F811
    return source_with(weights, adapter)


@pytest.fixture
def edit_adapter(source) -> EditAdapter:
    return EditAdapter(terms(source.config))


def completed(model):
    """Return the predictions after a completion's prompt, which is read anew."""
    model.forget_continuations()
    return finished(model.read(COMPLETION, part=3)).after_prompt().logprobs


def edited(model):
    """Return the predictions after the prompt of a next edit."""
    return finished(model.read_separately(EDIT, part=3)).after_prompt().logprobs


@pytest.mark.parametrize("make", BACKENDS)
def test_in_turn_each_gives_what_it_gives_alone(source, edit_adapter, make):
    adapted = make(source, edit_adapter)
    without, with_adapter, both = (TrunkModel(backend, None) for backend in (make(source, None), adapted, adapted))
    completions, edits = ([ask(one) for _ in range(3)] for ask, one in ((completed, without), (edited, with_adapter)))
    for completion, edit in zip(completions, edits, strict=True):
        np.testing.assert_array_equal(completed(both), completion)
        np.testing.assert_array_equal(edited(both), edit)
    assert np.abs(edited(without) - edits[0]).mean() > 0.1


@pytest.mark.parametrize("make", BACKENDS[1:])
@pytest.mark.parametrize("smoothed", [False, True])
def test_all_backends_compute_what_torch_computes(source, edit_adapter, make, smoothed, monkeypatch):
    if smoothed:
        smooth(source.config, monkeypatch)
    rows = replace(rows_of(PROMPT), adapted=True)
    expected, found = (each(source, edit_adapter) for each in (floats, make))
    expected, found = (each.run(each.new_buffer(), rows, 0).logprobs for each in (expected, found))
    assert np.abs(found - expected).mean() < (1e-4 if make is mlx else 0.1)


def smooth(config, monkeypatch):
    factors = {"attention": config.dim, "mlp": config.dim, "down": config.hidden}
    spread = {
        f"layers.{layer}.{name}": np.logspace(-3, 3, size)
        for layer in range(config.layers)
        for name, size in factors.items()
    }
    monkeypatch.setattr(Smoothing, "load", lambda _folder: Smoothing(spread))


def test_the_soft_prompt_is_for_models_without_an_adapter(source, edit_adapter):
    shape = source.config.layers, source.config.kv_heads, 4, source.config.head_dim
    soft_prompt = SoftPrompt(*(np.ones(shape, np.float16) for _ in range(2)))
    with_both = TrunkModel(floats(source, edit_adapter), None, soft_prompt=soft_prompt)
    np.testing.assert_array_equal(edited(with_both), edited(TrunkModel(floats(source, edit_adapter), None)))


def test_a_file_is_read_as_it_was_written(source):
    assert source.edit_adapter() is None
    written = terms(source.config)
    write_shard(source.trained / EDIT_ADAPTER, written, source.made_from())
    found = source.edit_adapter()
    np.testing.assert_array_equal(found.term(1, "down").up, written["layers.1.down.up"])
    np.testing.assert_array_equal(found.term(0, "qkv").down, written["layers.0.qkv.down"])


def without_a_matrix(arrays):
    del arrays["layers.1.out.up"]


def of_another_shape(arrays):
    arrays["layers.0.qkv.up"] = arrays["layers.0.qkv.up"][1:]


def not_finite(arrays):
    arrays["layers.0.out.down"][0, 0] = np.nan


def spoiled(source, change):
    arrays = terms(source.config)
    change(arrays)
    write_shard(source.trained / EDIT_ADAPTER, arrays, source.made_from())


def of_another_trunk(source):
    write_shard(source.trained / EDIT_ADAPTER, terms(source.config), "another model")


def cut_off(source):
    spoiled(source, lambda _arrays: None)
    path = source.trained / EDIT_ADAPTER
    path.write_bytes(path.read_bytes()[:-40])


def no_tensors(source):
    (source.trained / EDIT_ADAPTER).write_bytes(b"no tensors")


BAD = [
    pytest.param(of_another_trunk, "made for another model", id="another trunk"),
    pytest.param(cut_off, "cannot be read", id="cut off"),
    pytest.param(no_tensors, "cannot be read", id="something else"),
    pytest.param(lambda source: spoiled(source, without_a_matrix), "does not fit", id="a matrix is missing"),
    pytest.param(lambda source: spoiled(source, of_another_shape), "does not fit", id="another shape"),
    pytest.param(lambda source: spoiled(source, not_finite), "not finite", id="not finite"),
]


@pytest.mark.parametrize(("spoil", "message"), BAD)
def test_a_file_that_cannot_be_used_is_named_with_what_is_wrong(source, spoil, message):
    spoil(source)
    with pytest.raises(ModelDamagedError, match=message):
        source.edit_adapter()


@pytest.fixture
def load(source, monkeypatch):
    """Loads the model as a start does."""
    monkeypatch.setattr(trunk_loading, "prepared_folder", lambda: source.trained.with_name("cache"))
    monkeypatch.setattr(type(source), "vocabulary", lambda _self: type("Any", (), {"build_tables": list})())
    return lambda: trunk_loading.load_trunk(source, "cpu", ModelSettings(), lambda *_: None)


def test_with_a_file_that_cannot_be_used_the_model_is_served_without_it(source, load):
    expected = completed(load())
    cut_off(source)
    model = load()
    assert EDIT_ADAPTER in model.user_message
    assert "worse next edits until infill-ls is installed again" in model.user_message
    np.testing.assert_array_equal(completed(model), expected)
    assert not model.backend.adapts


def test_another_adapter_gets_a_graph_of_its_own(source, load):
    found = []
    for scale in (1, 1, 2):
        arrays = {name: (array * scale).astype(np.float16) for name, array in terms(source.config).items()}
        write_shard(source.trained / EDIT_ADAPTER, arrays, source.made_from())
        model = load()
        assert model.user_message == ""
        found.append(edited(model))
    np.testing.assert_array_equal(found[0], found[1])  # the second one is that of the kept graph
    assert not np.array_equal(found[0], found[2])
