"""One compiled step: which shapes it has, and what happens if it fails."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from compilers import Counting, Graphs, asked, fail, quietly
from torch import Tensor

from infill_engine.models.runtime.cuda_graphs import CompiledStep, shapes_of
from infill_engine.models.stock.decoder import sighted


def test_a_token_that_sees_nothing_sees_itself_and_no_other_more() -> None:
    visible = torch.tensor([[[0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 1, 0, 1]]]).bool()
    expected = torch.tensor([[[0, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 1]]]).bool()
    assert torch.equal(sighted(visible), expected)


def doubled(values: Tensor, marks: Tensor) -> tuple[Tensor]:
    return ((2 * values).masked_fill(marks[:, :, None], 0),)


def a_step(compiler: Any, told: list[str], **axes: Sequence[int]) -> CompiledStep:
    step = CompiledStep(doubled, ["rows tokens -", "rows tokens"], ["rows tokens -"])

    def example(sizes: Any) -> list[Tensor]:
        return [torch.zeros(sizes["rows"], sizes["tokens"], 3), torch.zeros(sizes["rows"], sizes["tokens"]).bool()]

    step.prepare(compiler, shapes_of(**axes), example, quietly, told.append)
    return step


@pytest.mark.parametrize(
    ("rows", "tokens", "computed"),
    [
        (1, 1, True),
        (2, 8, True),
        (3, 8, False),  # more rows than there may be
        (1, 2049, False),
        (2, 2000, True),
        (1, 2000, False),  # more than half of what would be computed is padding
        (2, 900, False),
    ],
)
def test_which_calls_a_prepared_shape_is_for(rows: int, tokens: int, computed: bool) -> None:
    step = a_step(lambda function: function, [], rows=(2,), tokens=(8, 2048))
    assert (asked(step, rows, tokens) is not None) == computed
    assert step.runs == computed


def test_results_are_not_lost_to_the_next_call() -> None:
    step = a_step(Graphs(), [], rows=(2,), tokens=(8,))
    first = asked(step, 2, 8)
    assert first is not None
    before = first.clone()
    asked(step, 2, 8)
    assert torch.equal(first, before)


def test_axes_of_one_name_have_one_size() -> None:
    step = a_step(lambda function: function, [], rows=(2,), tokens=(8,))
    with pytest.raises(ValueError, match="tokens"):
        step(torch.zeros(1, 4, 3), torch.zeros(1, 5).bool())


@pytest.mark.parametrize("compiler", [fail, lambda _function: fail], ids=["at once", "at its first run"])
def test_a_compiler_that_fails_is_told_of_once_and_not_used(compiler: Any, capfd: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    step = a_step(compiler, told, rows=(1,), tokens=(8, 16))
    assert not step.ready
    assert asked(step, 1, 8) is None
    assert len(told) == 1
    assert "RuntimeError" in told[0]
    logged = capfd.readouterr().err
    assert "RuntimeError in a compiled step" in logged
    assert "RuntimeError: no such compiler" not in logged  # a message might quote what was computed


def test_code_that_does_not_fit_after_all_is_not_compiled_anew() -> None:
    told: list[str] = []
    counting = Counting("eager")
    step = a_step(counting, told, rows=(2,), tokens=(8,))
    assert asked(step, 2, 8) is not None
    with torch.inference_mode():
        assert step(torch.zeros(2, 8, 3, dtype=torch.float64), torch.zeros(2, 8).bool()) is None
    assert counting.compiled == 1
    assert len(told) == 1
    assert asked(step, 2, 8) is None


def test_memory_that_runs_out_is_for_the_engine_to_handle() -> None:
    told: list[str] = []
    step = a_step(lambda function: function, told, rows=(2,), tokens=(8,))

    def full(*_: Tensor) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    step._compiled = full
    with pytest.raises(torch.OutOfMemoryError):
        asked(step, 2, 8)
    assert not told
