"""Products with frozen matrices: the functions that compute their own gradients against autograd, and int8."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from tiny import TRUNK

from infill_engine.models.trunk.adapter import NAMES
from train.low_rank import new_adapter
from train.trunk.int8_products import Int8Product, Rounded, fastest_products, int8_works
from train.trunk.products import PlainProduct
from train.trunk.terms import Term, adapted, adapted_mlp


def drawn(*shape, seed=0, learned=False):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.requires_grad_() if learned else made


def term(out, rank, width, seed):
    return Term(drawn(rank, width, seed=seed, learned=True), drawn(out, rank, seed=seed + 1, learned=True))


def merged(x, product, low_rank):
    return F.linear(x, product.matrix + low_rank.up @ low_rank.down, product.bias)


def same_gradients(found, expected, leaves):
    torch.testing.assert_close(found, expected)
    toward = drawn(*found.shape, seed=99)
    of_found, of_expected = (torch.autograd.grad((each * toward).sum(), leaves) for each in (found, expected))
    torch.testing.assert_close(of_found, of_expected)


def test_a_term_changes_a_product_as_if_it_were_merged():
    x, product = drawn(5, 6, learned=True), PlainProduct(drawn(7, 6, seed=1), drawn(7, seed=2))
    low_rank = term(7, 2, 6, 3)
    same_gradients(adapted(x, product, low_rank), merged(x, product, low_rank), [x, *low_rank])


def test_terms_change_an_mlp_as_if_they_were_merged():
    x, first, second = drawn(5, 6, learned=True), PlainProduct(drawn(8, 6, seed=1)), PlainProduct(drawn(6, 4, seed=2))
    terms = term(8, 2, 6, 3), term(6, 2, 4, 5)
    gate, up = merged(x, first, terms[0]).chunk(2, -1)
    expected = merged(F.silu(gate) * up, second, terms[1])
    same_gradients(adapted_mlp(x, first, terms[0], second, terms[1]), expected, [x, *terms[0], *terms[1]])


def test_a_new_adapter_has_a_term_for_each_matrix_and_changes_nothing():
    adapter = new_adapter(TRUNK, 4)
    assert len(adapter) == len(TRUNK.layers) * len(NAMES) * 2
    for number, layer in enumerate(TRUNK.layers):
        for name in NAMES:
            up, down = (adapter[f"layers.{number}.{name}.{side}"] for side in ("up", "down"))
            assert (up @ down).shape == getattr(layer, name).shape
            assert not up.any()
            assert down.any()


int8 = pytest.mark.skipif(not int8_works(), reason="this processor or torch has no exact int8 products")


@int8
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("rows", [1, 16, 21])
def test_int8_products_are_nearly_the_matrix(dtype, rows):
    matrix, bias = drawn(96, 64).to(dtype), drawn(96, seed=1).to(dtype)
    plain, rounded = PlainProduct(matrix, bias), Int8Product.of(matrix, bias)
    for way, width in (("times", 64), ("back", 96)):
        x = drawn(rows, width, seed=2).to(dtype) * torch.logspace(-3, 3, rows)[:, None].to(dtype)
        expected, found = getattr(plain, way)(x).float(), getattr(rounded, way)(x)
        assert found.dtype == dtype
        error = (found.float() - expected).norm(dim=1) / expected.norm(dim=1)
        assert error.max() < 0.03


@int8
def test_a_row_does_not_depend_on_those_beside_it():
    x = drawn(19, 96).float() * torch.logspace(-3, 3, 19)[:, None]
    multiply = Rounded.of(drawn(40, 96, seed=1).float()).times
    assert torch.equal(multiply(x), torch.cat([multiply(row[None]) for row in x]))


@int8
def test_rows_of_zeros_stay_zeros():
    assert not Int8Product.of(drawn(32, 32).bfloat16()).times(torch.zeros(3, 32, dtype=torch.bfloat16)).any()


def test_without_the_kernel_products_are_plain(monkeypatch):
    monkeypatch.setattr("train.trunk.int8_products.Rounded.of", lambda *_: torch.ops.onednn.not_there)
    assert fastest_products() is PlainProduct
