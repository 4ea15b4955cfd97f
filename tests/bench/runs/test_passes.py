"""How single passes are measured."""

from collections.abc import Callable

import pytest
import torch

from bench.runs import passes
from bench.runs.reference import Spent
from infill_engine.sampling.scripted import BUILT_IN
from tests.scripted_canvas import ScriptedModel


def test_passes_are_measured_on_one_thread_and_the_usual_number_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int] = []

    def spent(_device: str, _work: Callable[[], object]) -> Spent:
        used.append(torch.get_num_threads())
        return Spent(1.0, 1.0)

    monkeypatch.setattr(passes, "spent", spent)
    model, before = ScriptedModel(BUILT_IN), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert len(list(passes.measure_passes(model, 0.0))) == passes.FEWEST
        assert set(used) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
