"""A context that is reused across steps and keystrokes: how close it is to the exact one, and what it costs."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jobs import limited
from masked_families import (
    BEFORE,
    BEHIND,
    EXACT,
    SOME_PAIRS,
    engine,
    every_family,
    first_candidate,
    loaded,
    predictions,
)
from torch import Tensor
from toy import answer, share_right, sides

from bench.families.masked import MASK, PUBLISHED, STOCK, stock_network
from infill_engine.budget.work import OutOfTime, finished
from infill_engine.models.base import Context
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.kv_cache.layers import LayerMemory, Remembered
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel
from infill_engine.models.published.kinds.dual_cache import MOST_DRIFT, REFERENCE, REREAD_TOKENS
from infill_engine.models.stock.decoder import Backbone
from infill_engine.types import HoleKind

REUSED = replace(EXACT, reuse_context=True)
PLAIN = "qvwxkzj"  # a token a letter


def reusing(family: BidirectionalModel, **more: Any) -> BidirectionalModel:
    """A family on the same network that has read nothing yet and reuses what it reads."""
    return BidirectionalModel(
        family._description, family._backbone, family.vocabulary, replace(family._settings, reuse_context=True, **more)
    )


def typed(family: BidirectionalModel, before: str, behind: str, number: int) -> Context:
    """The context of two sides, the last `number` characters of the first typed one after the other."""
    for length in range(len(before) - number, len(before)):
        finished(family.encode(before[:length], behind))
    return finished(family.encode(before, behind))


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@every_family
def test_reusing_the_context_costs_little_accuracy(
    name: str, number: int, synthetic_masked: Callable[[str], Path]
) -> None:
    exact = loaded(synthetic_masked(name), replace(EXACT, probe_lengths=False))
    open_slots, decided, right = [], [], []
    for pair in SOME_PAIRS:
        (before, behind), token = sides(*pair), exact.vocabulary.encode(answer(*pair))
        family = reusing(exact)
        contexts = finished(exact.encode(before, behind)), typed(family, before, behind, number)
        canvas = lay_out([2, 4], exact.info.mask_id)
        for start, differences in enumerate((open_slots, decided)):
            one, other = (
                torch.softmax(each.denoise(context, HoleKind.LINE, canvas, np.arange(6)), -1)
                for each, context in zip((exact, family), contexts, strict=True)
            )
            differences.append(float((one - other).abs().sum(-1).mean()) / 2)
            right.append(other[start:2].argmax(-1).tolist() == token[start:])
            canvas.ids[[0, 2]] = token[0]
    # Of the probability, on average, is elsewhere.
    assert 0 < np.mean(open_slots) < 0.05, np.mean(open_slots)
    assert 0 < np.mean(decided) < 0.15, np.mean(decided)
    assert np.mean(right) >= 0.95


@every_family
def test_the_whole_engine_answers_with_a_reused_context(name: str, synthetic_masked: Callable[[str], Path]) -> None:
    usual_lengths = replace(REUSED, probe_lengths=False)
    assert share_right(partial(first_candidate, engine(synthetic_masked(name), usual_lengths)), SOME_PAIRS) >= 0.95


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_type": "default"},
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
        {"rope_type": "yarn", "factor": 4.0},  # scales what it rotates, too
    ],
)
@pytest.mark.parametrize("stock", STOCK)
def test_keys_that_are_moved_on_are_those_computed_there(stock: str, scaling: dict[str, Any]) -> None:
    rope = {"rope_theta": 5000.0, "original_max_position_embeddings": 1024} | scaling
    backbone = Backbone(stock_network(stock, rope_parameters=rope), "cpu")
    ids = torch.arange(60, 70)[None]

    def layers(first: int) -> list[LayerMemory]:
        memory = Remembered()
        backbone.states(ids, torch.arange(first, first + 10)[None], torch.ones(1, 1, 10, 10, dtype=torch.bool), memory)
        return memory.layers

    here = layers(200)
    for by in (-7, 1, 64):
        for (keys, _), (expected, _) in zip(here, layers(200 + by), strict=True):
            torch.testing.assert_close(backbone.moved(keys, by), expected, atol=1e-4, rtol=1e-4)
            assert float((keys - expected).abs().max()) > 0.1


@every_family
def test_a_usual_row_over_a_context_just_read_is_exact(name: str, masked_families: Callable[[str], Any]) -> None:
    exact, _ = masked_families(name)
    for text in ((BEFORE, BEHIND), (BEFORE * 6, BEHIND * 6), ("", "")):
        expected = predictions(exact, [REFERENCE], text)
        torch.testing.assert_close(predictions(reusing(exact), [REFERENCE], text), expected, atol=1e-4, rtol=1e-4)
    family = reusing(exact)
    little = PLAIN, PLAIN[:5]  # all of it so near the hole that it is read again with what is typed
    assert len(PLAIN) < REREAD_TOKENS
    typed(family, *little, 4)
    expected = predictions(exact, [REFERENCE], little)
    torch.testing.assert_close(predictions(family, [REFERENCE], little), expected, atol=1e-4, rtol=1e-4)


@every_family
def test_reusing_a_context_is_exact_where_keys_rest_on_nothing_but_their_token(
    name: str, masked_families: Callable[[str], Any]
) -> None:
    """A single layer's keys and values do: what is left to go wrong are places, columns, and who sees which."""
    two_layers, _ = masked_families(name)
    backbone = Backbone(stock_network(PUBLISHED[name].stock, num_hidden_layers=1), "cpu")
    exact = BidirectionalModel(two_layers._description, backbone, two_layers.vocabulary, EXACT)
    family = reusing(exact)
    rows: list[int | list[int]] = [3, [70, MASK, 71, 72, MASK], 1, 3, 17]
    before, behind = BEFORE * 8 + PLAIN * 4, BEHIND * 3
    typed(family, before, behind, 40)
    for prefix in (before, before[:-30], before[:-20] + "y", before[:-20] + "y" * 50):
        for suffix in (behind, "", BEHIND):
            expected = predictions(exact, rows, (prefix, suffix))
            torch.testing.assert_close(predictions(family, rows, (prefix, suffix)), expected, atol=1e-4, rtol=1e-4)


@every_family
def test_rows_over_a_reused_context_do_not_see_each_other(name: str, masked_families: Callable[[str], Any]) -> None:
    family = reusing(masked_families(name)[0])
    rows: list[int | list[int]] = [3, 11, [70, 71], 3, 1]
    together = predictions(family, rows, (BEFORE * 4, BEHIND * 4))
    alone = torch.cat([predictions(family, [row], (BEFORE * 4, BEHIND * 4)) for row in rows])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["dream", "a2d-qwen3"])
def test_a_context_is_read_as_a_whole_where_too_much_has_changed(
    name: str, masked_families: Callable[[str], Any]
) -> None:
    exact, _ = masked_families(name)
    before, behind, end = PLAIN * 20, PLAIN * 4, "y" * MOST_DRIFT

    def is_as_new(family: BidirectionalModel, before: str, behind: str) -> bool:
        new = predictions(reusing(exact), [4], (before, behind))
        return bool(torch.allclose(predictions(family, [4], (before, behind)), new, atol=1e-5))

    family = reusing(exact)
    typed(family, before + end, behind, MOST_DRIFT)
    assert not is_as_new(family, before + end, behind)
    assert is_as_new(family, before + end + "z", behind)
    for changed in ((before, behind + "z"), (before[: -MOST_DRIFT - 1], behind), ("z" + before, behind)):
        family = reusing(exact)
        finished(family.encode(before, behind))
        assert is_as_new(family, *changed)
    family = reusing(exact)
    finished(family.encode(before, behind))
    assert not is_as_new(family, before[:-MOST_DRIFT], behind)


@every_family
def test_a_keystroke_costs_a_tenth_of_a_long_context_and_what_is_counted(
    name: str, masked_families: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    family = reusing(masked_families(name)[0], prefix_tokens=1664, suffix_tokens=384)
    compute, computed = family._backbone.states, []

    def counted(ids: Tensor, *more: Any) -> Tensor:
        computed.append(ids.numel())
        return compute(ids, *more)

    monkeypatch.setattr(family._backbone, "states", counted)
    before, behind = (PLAIN * 300)[:1663], (PLAIN * 60)[:384]
    cold, asked = finished(family.encode(before, behind)), []
    assert cold.tokens >= 2047
    assert cold.encoded == sum(computed)
    computed.clear()
    warm = limited(family.encode(before + "v", behind), 9, asked)
    assert warm.encoded == sum(computed) == sum(asked) <= 0.1 * cold.encoded
    assert finished(family.encode(before + "v", behind)).encoded == 0
    computed.clear()
    canvas = lay_out([3, 9], family.info.mask_id)
    family.denoise(warm, HoleKind.LINE, canvas, np.arange(12))
    assert computed == [family.step_size(warm, [3, 9], 0)] == [24]


def test_a_context_that_was_read_stays_where_no_time_is_left_to_ask_about_it(
    masked_families: Callable[[str], Any],
) -> None:
    family = reusing(masked_families("dream")[0])
    asked: list[int] = []

    with pytest.raises(OutOfTime):
        limited(family.encode(BEFORE, BEHIND), 0)
    with pytest.raises(OutOfTime):
        limited(family.encode(BEFORE, BEHIND), 1, asked)
    assert len(asked) == 2
    assert finished(family.encode(BEFORE, BEHIND)).encoded == asked[1]
