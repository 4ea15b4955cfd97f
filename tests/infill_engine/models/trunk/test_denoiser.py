"""Mask rows: they change nothing about real rows, see what they should, and are served as they were trained."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_gguf
import torch
from safetensors.torch import load_file, save_file
from tiny_gguf import silent, write_gguf, write_plan

from infill_engine.errors import ModelDamagedError
from infill_engine.models.quantization.int8_kernels import KERNELS, is_exact
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.denoiser import (
    BLOCK,
    DENOISER,
    Denoiser,
    Head,
    MaskProposals,
    load_denoiser,
    matrix_shapes,
)
from infill_engine.models.trunk.files.convert import convert
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.loading import build_network
from infill_engine.models.trunk.products import FloatProducts, Int8Products
from infill_engine.models.trunk.prompt import Prompt
from infill_engine.models.trunk.slots import MIDDLE, PREFIX, SUFFIX, TEXTS, joined, mask_rows, prompt_rows, text_rows
from infill_engine.models.trunk.smoothing import Smoothing
from infill_engine.models.trunk.torch_backend import TorchBackend

PROMPT = Prompt((50, 7, 3, 9, 22), (50, 11, 4), (50, 30, 31))
LAST = len(PROMPT.tokens) - 1  # its last row
EXACT = [kernel for kernel in KERNELS if is_exact(kernel)]


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrunkWeights:
    monkeypatch.setattr(tiny_gguf, "KEPT", [f"token{number}" for number in range(50)] + ["<|fim_prefix|>"])
    source = write_gguf(tmp_path / "tiny.gguf")
    convert(tmp_path / "tiny.gguf", tmp_path / "trunk", write_plan(tmp_path / "made-from", source), silent)
    return TrunkWeights(tmp_path / "trunk")


@pytest.fixture
def denoiser(weights) -> Denoiser:
    generator = torch.Generator().manual_seed(5)

    def drawn(*shape):
        return torch.randn(*shape, generator=generator) / 4

    terms = {name: (drawn(out, 2), drawn(2, inside)) for name, (out, inside) in matrix_shapes(weights.config).items()}
    dim = weights.config.dim
    head = Head(drawn(3, dim), drawn(3, dim), drawn(dim, 3))
    return Denoiser(terms, drawn(BLOCK, dim), head, (0.7, 0.5, 0.4, 0.3))


def served(weights, denoiser, make=None):
    make = make or FloatProducts("cpu", torch.float32)
    network = build_network(weights, Adapter(), make, denoiser=denoiser)
    return TorchBackend(network, denoiser=denoiser.to("cpu", torch.float32))


def rows_of(text=(5, 8, 13), branch=None):
    """The prompt and a text behind it; `branch` is another first token, in the last row."""
    suffix, prefix, middle = len(PROMPT.suffix), len(PROMPT.prefix), len(PROMPT.middle)
    slots = [*range(PREFIX, PREFIX + prefix), *range(SUFFIX, SUFFIX + suffix), *range(MIDDLE, MIDDLE + middle)]
    tokens, depths = list(text), list(range(len(text)))
    texts = [*range(TEXTS, TEXTS + len(text))]
    parents = [texts[:at] for at in range(len(text))]
    if branch is not None:
        tokens, depths, texts, parents = [*tokens, branch], [*depths, 0], [*texts, texts[-1] + 1], [*parents, []]
    return joined(prompt_rows(PROMPT, slots), text_rows(PROMPT, tokens, depths, texts, parents))


def run(backend, rows, blocks=()):
    buffer = backend.new_buffer()
    return backend.run(buffer, rows, 0, mask_rows(rows, blocks) if blocks else None), buffer


@pytest.mark.parametrize("kernel", EXACT)
def test_real_rows_are_the_same_to_the_last_bit_with_and_without_masks(weights, denoiser, kernel):
    backend = served(weights, denoiser, Int8Products(kernel))
    rows = rows_of()
    plain, kept = run(backend, rows)
    for blocks in ([(LAST, 1)], [(LAST, 4), (LAST + 1, 2)], [(LAST + 3, 3)]):
        found, buffer = run(backend, rows, blocks)
        np.testing.assert_array_equal(found.logprobs, plain.logprobs)
        np.testing.assert_array_equal(found.tokens, plain.tokens)
        assert all(map(torch.equal, buffer, kept))


def test_real_rows_do_not_depend_on_masks_in_floating_point_and_on_mlx(weights, denoiser):
    mlx = pytest.importorskip("infill_engine.models.trunk.mlx_backend")
    rows = rows_of()
    for backend in (served(weights, denoiser), mlx.MlxBackend(weights, Adapter(), torch.float32, denoiser)):
        plain, found = run(backend, rows)[0], run(backend, rows, [(LAST, 4), (LAST + 1, 2)])[0]
        np.testing.assert_allclose(found.logprobs, plain.logprobs, atol=1e-5)
        assert found.proposals is not None
        assert plain.proposals is None


def test_mlx_proposes_what_torch_proposes(weights, denoiser):
    mlx = pytest.importorskip("infill_engine.models.trunk.mlx_backend")
    blocks = [(LAST, 4), (LAST + 2, 2)]
    backends = served(weights, denoiser), mlx.MlxBackend(weights, Adapter(), torch.float32, denoiser)
    one, other = (run(backend, rows_of(), blocks)[0].proposals for backend in backends)
    np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-3)
    for row in range(6):
        (token, logprob), (same, close) = one.choose(row, 9), other.choose(row, 9)
        assert token == same
        assert logprob == pytest.approx(close, abs=1e-3)


def test_mask_rows_see_their_anchors_path_and_block_and_nothing_else(weights, denoiser):
    backend = served(weights, denoiser)

    def proposed(anchor, length=2, others=(), **rows):
        found = run(backend, rows_of(**rows), [*others, (anchor, length)])[0].proposals
        return found.logprobs[-length:]

    second = LAST + 2
    usual = proposed(second)
    np.testing.assert_allclose(proposed(second, others=[(LAST, 3), (LAST + 1, 1)]), usual, atol=1e-5)
    np.testing.assert_allclose(proposed(second, branch=40), usual, atol=1e-5)
    np.testing.assert_allclose(proposed(second, text=(5, 8, 17)), usual, atol=1e-5)
    assert np.abs(proposed(second, text=(6, 8, 13)) - usual).max() > 1e-3
    assert np.abs(proposed(second, length=3)[:2] - usual).max() > 1e-4


def test_smoothed_matrices_have_the_same_terms(weights, denoiser, monkeypatch):
    wide = {}
    for layer in range(weights.config.layers):
        for name, size in (("attention", 64), ("mlp", 64), ("down", 128)):
            wide[f"layers.{layer}.{name}"] = torch.logspace(-3, 3, size)
    plain = run(served(weights, denoiser), rows_of(), [(LAST, 3)])[0].proposals
    monkeypatch.setattr(Smoothing, "load", lambda _folder: Smoothing(wide))
    smoothed = run(served(weights, denoiser), rows_of(), [(LAST, 3)])[0].proposals
    np.testing.assert_allclose(smoothed.logprobs, plain.logprobs, atol=1e-3)


def test_the_head_chooses_in_view_of_the_token_before():
    by_token = {3: np.float32([4.0]), 4: np.float32([-30.0])}
    proposals = MaskProposals(
        [0],
        [0],
        np.array([[7, 9]]),
        np.log(np.float32([[0.6, 0.3]])),
        np.float32([[0.0]]),
        np.float32([[[0.0], [2.0]]]),
        by_token.__getitem__,
    )
    token, logprob = proposals.choose(0, 3)
    assert token == 9
    assert logprob > np.log(0.8)
    assert proposals.choose(0, 4) == (7, pytest.approx(np.log(0.6)))


def test_a_denoiser_is_kept_in_its_file(weights, denoiser, tmp_path):
    denoiser.save(tmp_path)
    kept = load_denoiser(tmp_path, weights.config)
    assert kept is not None
    assert kept.survival == pytest.approx(denoiser.survival)
    before, after = (
        run(served(weights, one), rows_of(), [(LAST, 4)])[0].proposals.logprobs for one in (denoiser, kept)
    )
    assert np.abs(before - after).mean() < 0.05


def test_no_file_is_no_denoiser(weights, tmp_path):
    assert load_denoiser(tmp_path, weights.config) is None


@pytest.mark.parametrize("content", [b"", b"no tensors", b"\x10\0\0\0\0\0\0\0{}"])
def test_a_damaged_file_is_named(weights, tmp_path, content):
    (tmp_path / DENOISER).write_bytes(content)
    with pytest.raises(ModelDamagedError, match=DENOISER):
        load_denoiser(tmp_path, weights.config)


def test_a_file_that_lacks_something_or_is_of_another_trunk_is_named(weights, denoiser, tmp_path):
    denoiser.save(tmp_path)
    stored = load_file(tmp_path / DENOISER)
    stored.pop("layers.1.down.up.levels")
    save_file(stored, tmp_path / DENOISER)
    with pytest.raises(ModelDamagedError, match="cannot be read"):
        load_denoiser(tmp_path, weights.config)
    denoiser.save(tmp_path)
    with pytest.raises(ModelDamagedError, match="does not fit"):
        load_denoiser(tmp_path, replace(weights.config, dim=32))
