"""Counts of the n-gram baseline."""

from pathlib import Path

import numpy as np
import pytest

from bench.quality.systems.ngram import FILE_WEIGHT, NgramModel, NgramTable, count


def test_ngram_counts_and_backs_off(tmp_path: Path) -> None:
    table = count(np.array([5, 6, 7, 5, 6, 7, 5, 6, 8]))
    assert table.following([5, 6], 3) == {7: 2, 8: 1}
    assert table.following([6], 2) == {7: 2, 8: 1}
    assert table.following([9], 2) == {}
    assert table.following([], 2) == {}
    table.save(tmp_path / "table.npz")
    assert NgramTable.load(tmp_path / "table.npz").following([5, 6], 3) == {7: 2, 8: 1}
    assert count(np.array([1, 2, 3, 1, 2, 3, 4]), drop_rare=True).following([2, 3], 3) == {}
    model = NgramModel(count(np.array([1, 2, 3] * 3)), count(np.array([1, 2, 9])))
    scores = model.scores([1, 2])
    assert scores[9] > scores[3]  # the open file weighs more
    assert np.exp(scores[9]) == pytest.approx(FILE_WEIGHT / (FILE_WEIGHT + 3))
