"""Matrix products in int8: as near as they must be, and each token by itself."""

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from train.denoiser.int8_kernels import KERNELS, LARGEST, Fbgemm, Kernel, OneDnn, is_exact

HERE = [kernel for kernel in KERNELS if is_exact(kernel)]  # what can be taken on this machine
every_kernel = pytest.mark.parametrize("kernel", HERE)
NEAR = {OneDnn: 0.02, Fbgemm: 0.04}  # what rounding costs: an eighth bit halves it


def rounded(matrix: torch.Tensor, kernel: type[Kernel]) -> Kernel:
    """Products with a matrix [N, K] that is rounded to int8, with a scale for each of its rows."""
    scale = matrix.abs().amax(1).clamp(min=1e-12) / LARGEST
    return kernel((matrix / scale[:, None]).round().to(torch.int8), scale)


@every_kernel
@pytest.mark.parametrize("rows", [1, 4, 33])
def test_a_product_is_near_the_exact_one(rows: int, kernel: type[Kernel]) -> None:
    torch.manual_seed(rows)
    x, weight = torch.randn(rows, 96), torch.randn(40, 96)
    product, exact = rounded(weight, kernel).product(x), F.linear(x, weight)
    assert product.shape == exact.shape
    assert (product - exact).norm() < NEAR[kernel] * exact.norm()


@every_kernel
def test_a_token_does_not_depend_on_those_beside_it(kernel: type[Kernel]) -> None:
    torch.manual_seed(0)
    x = torch.randn(19, 96) * torch.logspace(-3, 3, 19)[:, None]
    multiply = rounded(torch.randn(40, 96), kernel).product
    alone = torch.cat([multiply(token[None]) for token in x])
    assert torch.equal(multiply(x), alone)


@every_kernel
def test_nothing_but_zeros_is_zero(kernel: type[Kernel]) -> None:
    assert torch.equal(rounded(torch.zeros(8, 32), kernel).product(torch.zeros(3, 32)), torch.zeros(3, 8))


@every_kernel
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_sums_are_exact(kernel: type[Kernel], sign: float) -> None:
    """Each row and each matrix as large as it gets, where sums in 16 bits would overflow."""
    product = rounded(torch.ones(40, 384), kernel).product(torch.full((3, 384), sign))
    torch.testing.assert_close(product, torch.full((3, 40), 384 * sign))


@pytest.mark.skipif(Fbgemm not in HERE, reason="not on this processor")
def test_rows_of_seven_bits_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an eighth bit FBGEMM's sums overflow where a processor adds them in 16 bits, and that is noticed."""
    monkeypatch.setattr(Fbgemm, "LEVELS", LARGEST)
    largest = Fbgemm(torch.full((8, 384), LARGEST, dtype=torch.int8), torch.ones(8)).product(torch.ones(1, 384))
    assert is_exact(Fbgemm) == bool((largest > LARGEST * 383).all())


def test_a_torch_without_a_kernel_goes_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise AttributeError

    monkeypatch.setattr(torch, "_make_per_channel_quantized_tensor", missing)
    assert not is_exact(Fbgemm)
