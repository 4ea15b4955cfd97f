"""Keys and values in front of a prompt: what they do in each backend, and files that cannot be used."""

import numpy as np
import pytest
import torch
from test_backends import INT8, adapter, floats, rows_of, weights  # noqa: F401  (fixtures)

from infill_engine.budget.work import finished
from infill_engine.errors import ModelDamagedError
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.files.shards import write_shard
from infill_engine.models.trunk.merged import MergedWeights
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.models.trunk.prompt_cache import PromptCache
from infill_engine.models.trunk.slots import SUFFIX
from infill_engine.models.trunk.soft_prompt import NEXT_EDITS, SoftPrompt

HEAD = (50, 17, 2, 8)
REST = Prompt((50, 7, 3, 9, 22), (50, 11, 4), (50, 30, 31))
WITH_HEAD = Prompt(REST.prefix, REST.suffix, REST.middle, HEAD)


def of_tokens(backend) -> SoftPrompt:
    """The soft prompt of what torch computes for the tokens of HEAD."""
    buffer = backend.new_buffer()
    backend.run(buffer, rows_of(WITH_HEAD), 0)
    kept = torch.stack(buffer)[:, :, :, SUFFIX - len(HEAD) : SUFFIX].half().numpy()  # [L, 2, kv_heads, P, hd]
    return SoftPrompt(kept[:, 0], kept[:, 1])


def behind(backend, soft_prompt=None):
    """Return the predictions after REST, which follows a soft prompt or the tokens of HEAD."""
    model = TrunkModel(backend, None, soft_prompt=soft_prompt)
    prompt = WITH_HEAD if soft_prompt is None else REST
    return finished(model.read_separately(prompt, part=3)).after_prompt().logprobs


def mlx(weights, adapter):  # noqa: F811
    module = pytest.importorskip("infill_engine.models.trunk.backends.mlx_backend")
    return module.MlxBackend(MergedWeights(weights, adapter), "float32")


@pytest.mark.parametrize("make", [pytest.param(floats, id="torch"), pytest.param(mlx, id="mlx"), *INT8])
def test_keys_and_values_do_what_their_tokens_do(weights, adapter, make):  # noqa: F811
    soft_prompt, backend = of_tokens(floats(weights, adapter)), make(weights, adapter)
    expected = behind(backend)
    assert np.abs(behind(backend, soft_prompt) - expected).mean() < 0.05
    other = SoftPrompt(soft_prompt.keys[:, :, ::-1].copy(), -4 * soft_prompt.values)
    assert np.abs(behind(backend, other) - expected).mean() > 0.1


def test_a_soft_prompt_stays_while_prompts_change(weights, adapter):  # noqa: F811
    backend = floats(weights, adapter)
    soft_prompt = of_tokens(backend)
    model = TrunkModel(backend, None, soft_prompt=soft_prompt)
    finished(model.read_separately(Prompt((50, 1, 2), (), (5,)), part=9))
    found = finished(model.read_separately(REST, part=9)).after_prompt()
    np.testing.assert_allclose(found.logprobs, behind(backend, soft_prompt), atol=1e-4)


def test_completions_have_no_soft_prompt(weights, adapter):  # noqa: F811
    backend = floats(weights, adapter)
    model = TrunkModel(backend, None, soft_prompt=of_tokens(backend))
    found = finished(model.read(REST)).after_prompt()
    np.testing.assert_allclose(found.logprobs, plain(backend), atol=1e-4)


def plain(backend):
    cache = PromptCache(backend)
    finished(cache.read(REST, 64, 64))
    return cache.after_prompt().logprobs


def write(path, prompt, made_for):
    write_shard(path, {"keys": prompt.keys, "values": prompt.values}, made_for)


def test_a_file_is_read_as_it_was_written(weights, adapter, tmp_path):  # noqa: F811
    made = of_tokens(floats(weights, adapter))
    assert SoftPrompt.load(tmp_path, weights.config, "this model") is None
    write(tmp_path / NEXT_EDITS, made, "this model")
    found = SoftPrompt.load(tmp_path, weights.config, "this model")
    np.testing.assert_array_equal(found.keys, made.keys)
    np.testing.assert_array_equal(found.values, made.values)
    assert len(found) == len(HEAD) == len(set(found.tokens))


@pytest.mark.parametrize(
    ("spoil", "made_for", "message"),
    [
        pytest.param(lambda content: content, "another model", "made for another model", id="another model"),
        pytest.param(lambda content: content[:-40], "this model", "cannot be read", id="cut off"),
        pytest.param(lambda _: b"no tensors", "this model", "cannot be read", id="something else"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(weights, tmp_path, spoil, made_for, message):  # noqa: F811
    path = tmp_path / NEXT_EDITS
    write(path, of_tokens(floats(weights, Adapter())), made_for)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ModelDamagedError, match=message):
        SoftPrompt.load(tmp_path, weights.config, "this model")


def test_other_sizes_are_refused(weights, tmp_path):  # noqa: F811
    made = of_tokens(floats(weights, Adapter()))
    write(tmp_path / NEXT_EDITS, SoftPrompt(made.keys[:1], made.values[:1]), "this model")
    with pytest.raises(ModelDamagedError, match="does not fit"):
        SoftPrompt.load(tmp_path, weights.config, "this model")
