import numpy as np
import pytest

from infill_engine.sampling.canvas import orders
from infill_engine.sampling.canvas.orders import to_commit, to_doubt
from infill_engine.sampling.canvas.prediction import SlotPredictions


@pytest.fixture(autouse=True)
def _larger_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orders, "ENTROPY_BOUND", 1.0)


def readout(entropy: list[float], best: list[float] | None = None, held: list[float] | None = None) -> SlotPredictions:
    zeros = np.zeros(len(entropy), dtype=np.int64)
    logs = [np.log(np.array(p or [0.5] * len(entropy), dtype=np.float32)) for p in (best, held)]
    return SlotPredictions(zeros, logs[0], zeros, logs[0], np.array(entropy, dtype=np.float32), logs[1])


@pytest.mark.parametrize(
    ("what", "entropy", "best", "rows", "steps_left", "expected"),
    [
        ("nothing open", [], [], [], 3, []),
        ("at least one, the most certain", [5, 3, 4], None, [0, 0, 0], 9, [1]),
        ("while the entropy before stays within the bound", [0.4, 0.5, 0.3, 2.0, 3.0], None, [0] * 5, 9, [0, 1, 2]),
        ("one that alone exceeds the bound ends the run", [0.0, 1.5, 1.6], None, [0] * 3, 9, [0, 1]),
        ("every row moves", [5, 6, 7, 8], None, [0, 0, 1, 1], 9, [0, 2]),
        ("enough to be done in time", [5, 6, 7, 8], None, [0] * 4, 2, [0, 1]),
        ("everything in the last step", [5, 6, 7, 8], None, [0] * 4, 1, [0, 1, 2, 3]),
        ("the sure one, whatever the bound says", [5, 6, 7], [0.5, 0.5, 0.95], [0] * 3, 9, [0, 2]),
    ],
)
def test_to_commit(
    what: str, entropy: list[float], best: list[float] | None, rows: list[int], steps_left: int, expected: list[int]
) -> None:
    assert to_commit(readout(entropy, best), np.array(rows), steps_left).tolist() == expected


@pytest.mark.parametrize(
    ("held", "best", "expected"),
    [(0.01, 0.9, [0]), (0.01, 0.3, []), (0.2, 0.8, []), (0.9, 0.9, [])],
)
def test_a_token_is_doubted_only_for_a_better_one(held: float, best: float, expected: list[int]) -> None:
    assert to_doubt(readout([1.0], [best], [held])).tolist() == expected
