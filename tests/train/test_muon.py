"""Our Muon against torch's, which computes in bfloat16."""

import pytest
import torch

from train.small.muon import Muon, orthogonal

SHAPES = [(24, 24), (24, 24), (40, 24), (24, 40)]
SETTINGS = {"lr": 0.02, "weight_decay": 0.05, "momentum": 0.95}


def steps(make: object, count: int = 4) -> list[torch.Tensor]:
    """The matrices after some steps down random gradients, the last matrix having none in the first step."""
    torch.manual_seed(0)
    matrices = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    optimiser = make(matrices)
    for number in range(count):
        for matrix in matrices:
            matrix.grad = torch.randn(matrix.shape)
        if not number:
            matrices[-1].grad = None
        optimiser.step()
    return [matrix.detach() for matrix in matrices]


def theirs(matrices: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.Muon(matrices, adjust_lr_fn="match_rms_adamw", **SETTINGS)


@pytest.mark.parametrize(("dtype", "close"), [(torch.bfloat16, 0.02), (torch.float32, 0.04)])
def test_steps_are_those_of_torch(dtype: torch.dtype, close: float) -> None:
    found = steps(lambda matrices: Muon(matrices, dtype=dtype, **SETTINGS))
    for ours, expected, start in zip(found, steps(theirs), steps(theirs, 0), strict=True):
        assert (ours - expected).norm() < close * (expected - start).norm()


@pytest.mark.parametrize("shape", [(24, 24), (40, 24), (24, 40)])
def test_singular_values_are_drawn_towards_one(shape: tuple[int, int]) -> None:
    torch.manual_seed(1)
    values = torch.linalg.svdvals(orthogonal(torch.randn(3, *shape)))
    assert 0.3 < values.min() < values.max() < 1.3


def test_what_torchs_has_kept_is_gone_on_from() -> None:
    torch.manual_seed(0)
    matrix = torch.nn.Parameter(torch.randn(24, 24))
    before, after = theirs([matrix]), Muon([matrix], dtype=torch.float32, **SETTINGS)
    matrix.grad = torch.randn(24, 24)
    before.step()
    after.load_state_dict(before.state_dict())
    after.step()
    torch.testing.assert_close(after.state[matrix]["momentum_buffer"], matrix.grad * (0.05 + 0.95 * 0.05))
