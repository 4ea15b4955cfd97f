"""Training with products in eight bits, against the same in float32."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from infill_engine.models.quantization.int8_kernels import OneDnn, is_exact
from infill_engine.models.small.network.dual_encoder import DualEncoder
from train.small import precision
from train.small.__main__ import SIZES
from train.small.rounded import RoundedLinear, round_products

CPU = torch.device("cpu")
exact = pytest.mark.skipif(not is_exact(OneDnn), reason="this processor adds products of int8 in 16 bits")


def gradients(linear: nn.Linear, x: torch.Tensor, outer: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What `linear` makes of x, and the gradients of x and of the weight where `outer` comes back."""
    x = x.clone().requires_grad_()
    linear.weight.grad = None
    product = linear(x)
    product.backward(outer)
    assert x.grad is not None
    assert linear.weight.grad is not None
    return product.detach(), x.grad, linear.weight.grad


@exact
def test_products_and_gradients_are_nearly_those_of_float32() -> None:
    torch.manual_seed(0)
    plain = nn.Linear(96, 64, bias=False)
    rounded = RoundedLinear(96, 64, bias=False)
    rounded.weight = plain.weight
    # Tokens whose sizes differ by a factor of a thousand: each has its own scale.
    x, outer = torch.randn(2, 40, 96), torch.randn(2, 40, 64) * torch.logspace(-3, 0, 80).view(2, 40, 1)
    for found, expected in zip(gradients(rounded, x, outer), gradients(plain, x, outer), strict=True):
        assert found.shape == expected.shape
        assert cosine_similarity(found.flatten(), expected.flatten(), 0) > 0.999
        assert (cosine_similarity(found.flatten(0, -2), expected.flatten(0, -2)) > 0.99).all()


@exact
def test_in_mixed_precision_the_largest_number_stays_within_eight_bits() -> None:
    torch.manual_seed(0)
    rounded = RoundedLinear(96, 64, bias=False)
    x, outer = torch.randn(400, 96).bfloat16(), torch.randn(400, 64)
    with torch.autocast("cpu", torch.bfloat16):
        found = gradients(rounded, x, outer)
    for half, whole in zip(found, gradients(rounded, x.float(), outer), strict=True):
        assert cosine_similarity(half.float().flatten(), whole.flatten(), 0) > 0.9999


@exact
def test_a_network_keeps_its_parameters_and_their_names() -> None:
    network = DualEncoder(SIZES["tiny"])
    before = dict(network.named_parameters())
    round_products(network)
    after = dict(network.named_parameters())
    assert list(after) == list(before)
    assert all(after[name] is parameter for name, parameter in before.items())
    linears = [module for module in network.modules() if isinstance(module, nn.Linear)]
    assert {type(linear) for linear in linears} == {nn.Linear, RoundedLinear}
    assert type(network.edges) is type(network.length_head) is nn.Linear  # a few rows only
    assert len([linear for linear in linears if isinstance(linear, RoundedLinear)]) == 16


def test_nothing_is_rounded_where_sums_overflow_or_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not precision.rounding_pays(torch.device("cuda"))
    monkeypatch.setattr(precision, "is_exact", lambda _: False)
    assert not precision.rounding_pays(CPU)


@exact
@pytest.mark.parametrize("answer", [True, False])
def test_it_pays_where_two_products_in_eight_bits_are_faster_than_one(
    monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    def fastest(ways: dict[object, object]) -> object:
        return answer if set(ways) == {False, True} else torch.float32

    monkeypatch.setattr(precision, "quickest", fastest)
    monkeypatch.setattr(precision, "dtype_of", lambda _place: torch.float32)
    assert precision.rounding_pays(CPU) is answer
