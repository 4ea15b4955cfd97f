"""Matrix products in int8: as near as they must be, and each token by itself."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.duostream import int8
from infill_engine.models.duostream.family import DuostreamFamily
from infill_engine.models.duostream.int8 import Int8Linear, quantise
from infill_engine.models.load import load_family
from infill_engine.settings import ModelSettings

TEXT = Path(int8.__file__).read_text()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 4, 33])
def test_a_product_is_near_the_exact_one(dtype: torch.dtype, rows: int) -> None:
    torch.manual_seed(rows)
    x, weight = torch.randn(2, rows, 96).to(dtype), torch.randn(40, 96).to(dtype)
    product, exact = Int8Linear(*quantise(weight.float()))(x), F.linear(x.float(), weight.float())
    assert product.dtype is dtype
    assert product.shape == exact.shape
    assert (product.float() - exact).norm() < 0.02 * exact.norm()


def test_a_token_does_not_depend_on_those_beside_it() -> None:
    torch.manual_seed(0)
    x, linear = torch.randn(19, 96) * torch.logspace(-3, 3, 19)[:, None], Int8Linear(*quantise(torch.randn(40, 96)))
    alone = torch.cat([linear(token[None]) for token in x])
    assert torch.equal(linear(x), alone)


def test_nothing_but_zeros_is_zero() -> None:
    assert torch.equal(Int8Linear(*quantise(torch.zeros(8, 32)))(torch.zeros(3, 32)), torch.zeros(3, 8))


def test_the_shipped_model_reads_as_well() -> None:
    """The mean loss over a text, of both streams, within what two seeds of a short evaluation would differ by."""
    exact, rounded = (_losses(precision) for precision in ("fp32", "int8"))
    torch.testing.assert_close(rounded, exact, atol=0.03, rtol=0)
    assert not torch.equal(rounded, exact)


def _losses(precision: str) -> torch.Tensor:
    family = load_family("default", "cpu", ModelSettings(dtype=precision))
    assert isinstance(family, DuostreamFamily)
    ids = torch.tensor([family.vocabulary.encode(TEXT)[:400]])
    with torch.inference_mode():
        streams = family.backend.network.streams(ids)
        return torch.stack(
            [
                F.cross_entropy(family.backend.network.logits(states)[0, :-1].float(), read[0, 1:])
                for states, read in ((streams.prefix, ids), (streams.suffix, ids.flip(1)))
            ]
        )
