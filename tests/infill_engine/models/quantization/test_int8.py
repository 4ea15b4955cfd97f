"""Matrix products in int8: as near as they must be, and each token by itself."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.quantization import int8_linear as int8
from infill_engine.models.quantization.int8_kernels import KERNELS, LARGEST, Fbgemm, Kernel, OneDnn, is_exact
from infill_engine.models.quantization.int8_linear import Int8Linear, quantise
from infill_engine.models.small.model import SmallModel
from infill_engine.settings import ModelSettings

TEXT = Path(int8.__file__).read_text()


HERE = [kernel for kernel in KERNELS if is_exact(kernel)]  # what can be taken on this machine
every_kernel = pytest.mark.parametrize("kernel", HERE)
NEAR = {OneDnn: 0.02, Fbgemm: 0.04}  # what rounding costs: an eighth bit halves it


@every_kernel
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 4, 33])
def test_a_product_is_near_the_exact_one(dtype: torch.dtype, rows: int, kernel: type[Kernel]) -> None:
    torch.manual_seed(rows)
    x, weight = torch.randn(2, rows, 96).to(dtype), torch.randn(40, 96).to(dtype)
    product, exact = Int8Linear(*quantise(weight.float()), kernel)(x), F.linear(x.float(), weight.float())
    assert product.dtype is dtype
    assert product.shape == exact.shape
    assert (product.float() - exact).norm() < NEAR[kernel] * exact.norm()


@every_kernel
def test_arrays_and_tensors_have_the_same_product(kernel: type[Kernel]) -> None:
    torch.manual_seed(0)
    x, linear = torch.randn(5, 96), Int8Linear(*quantise(torch.randn(40, 96)), kernel)
    torch.testing.assert_close(torch.from_numpy(linear.product_of_rows(x.numpy())), linear(x))


@every_kernel
def test_a_token_does_not_depend_on_those_beside_it(kernel: type[Kernel]) -> None:
    torch.manual_seed(0)
    x = torch.randn(19, 96) * torch.logspace(-3, 3, 19)[:, None]
    linear = Int8Linear(*quantise(torch.randn(40, 96)), kernel)
    alone = torch.cat([linear(token[None]) for token in x])
    assert torch.equal(linear(x), alone)


@every_kernel
def test_nothing_but_zeros_is_zero(kernel: type[Kernel]) -> None:
    assert torch.equal(Int8Linear(*quantise(torch.zeros(8, 32)), kernel)(torch.zeros(3, 32)), torch.zeros(3, 8))


@every_kernel
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_largest_sums_are_exact(kernel: type[Kernel], sign: float) -> None:
    """Each row and each matrix as large as it gets, where sums in 16 bits would overflow."""
    product = Int8Linear(*quantise(torch.ones(40, 384)), kernel)(torch.full((3, 384), sign))
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


def test_the_shipped_model_reads_as_well() -> None:
    """The mean loss over a text, of both streams, within what two seeds of a short evaluation would differ by."""
    exact, rounded = (_losses(precision) for precision in ("fp32", "int8"))
    torch.testing.assert_close(rounded, exact, atol=0.03, rtol=0)
    assert not torch.equal(rounded, exact)


def _losses(precision: str) -> torch.Tensor:
    family = load_canvas_model("small", "cpu", ModelSettings(dtype=precision))
    assert isinstance(family, SmallModel)
    ids = torch.tensor([family.vocabulary.encode(TEXT)[:400]])
    with torch.inference_mode():
        streams = family.backend.network.streams(ids)
        return torch.stack(
            [
                F.cross_entropy(family.backend.network.logits(states)[0, :-1].float(), read[0, 1:])
                for states, read in ((streams.prefix, ids), (streams.suffix, ids.flip(1)))
            ]
        )
