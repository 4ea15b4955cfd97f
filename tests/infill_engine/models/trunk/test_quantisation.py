"""Rounding is deterministic and within bounds; what is packed comes back."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType, dequantize, quantize

from infill_engine.models.trunk.files import formats as quantisation
from infill_engine.models.trunk.files.formats import (
    EIGHT_BITS,
    FIVE,
    FIVE_BITS,
    FOUR,
    FOUR_BITS,
    FOUR_BITS_64,
    Floats,
    Format,
    PackedBlocks,
    pack,
    unpack,
)

EVEN = np.ones(128, np.float32)


def drawn(rows: int = 40, columns: int = 128, seed: int = 0) -> Floats:
    return (np.random.default_rng(seed).standard_normal((rows, columns)) / 20).astype(np.float32)


def unpacked(packed: PackedBlocks) -> Floats:
    return unpack(packed.codes, packed.scales, packed.high)


ALL = (FOUR_BITS_64, FOUR_BITS, FIVE_BITS, EIGHT_BITS)


@pytest.mark.parametrize(("stored", "most"), [*zip(ALL, (0.0115, 0.0095, 0.0024, 0.0001), strict=True)])
def test_the_error_and_the_size_are_those_of_the_format(stored: Format, most: float) -> None:
    weights = drawn()
    packed = pack(weights, EVEN, stored)
    error = np.square(unpacked(packed) - weights).sum() / np.square(weights).sum()
    assert 0 < error < most
    arrays = (packed.codes, packed.scales, packed.high)
    assert stored.bytes_of(*weights.shape) == sum(array.nbytes for array in arrays if array is not None)


@pytest.mark.parametrize(("stored", "levels"), [(FOUR_BITS_64, FOUR), (FOUR_BITS, FOUR), (FIVE_BITS, FIVE)])
def test_what_lies_on_the_levels_comes_back_exactly(stored: Format, levels: tuple[int, ...]) -> None:
    codes = np.random.default_rng(3).integers(0, len(levels), (6, 64))
    codes[:, ::32] = 0  # the lowest level, so that the scale can be found
    scales = np.float32([0.5, -0.25, 0.03125, 2.0**-14, -0.125, 7.0])[:, None]
    weights = (np.array(levels, np.float32)[codes] / 128 * scales).astype(np.float32)
    assert (unpacked(pack(weights, EVEN[:64], stored)) == weights).all()


def test_five_bits_hold_a_q5_0_tensor_exactly() -> None:
    weights = dequantize(quantize(drawn(), GGMLQuantizationType.Q5_0), GGMLQuantizationType.Q5_0)
    assert (unpacked(pack(weights, EVEN, FIVE_BITS)) == weights).all()


def test_important_channels_are_rounded_better() -> None:
    weights, importance = drawn(rows=200), EVEN.copy()
    importance[::8] = 50
    errors = [np.square(unpacked(pack(weights, each, FOUR_BITS)) - weights).sum(0) for each in (EVEN, importance)]
    assert errors[1][::8].sum() < 0.9 * errors[0][::8].sum()


@pytest.mark.parametrize("stored", ALL)
def test_rounding_does_not_depend_on_how_many_rows_go_together(stored: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = drawn(rows=33)
    whole = pack(weights, EVEN, stored)
    monkeypatch.setattr(quantisation, "BLOCK", 300)
    parts = pack(weights, EVEN, stored)
    assert (whole.codes == parts.codes).all()
    assert (whole.scales == parts.scales).all()
    assert (unpacked(whole) == unpacked(parts)).all()


@pytest.mark.parametrize("stored", ALL)
def test_zeros_stay_zero(stored: Format) -> None:
    weights = drawn(rows=2)
    weights[0] = 0
    with np.errstate(all="raise"):
        assert not unpacked(pack(weights, EVEN, stored))[0].any()


def test_eight_bits_err_by_half_a_step_at_most() -> None:
    weights = drawn()
    packed = pack(weights, EVEN, EIGHT_BITS)
    steps = packed.scales[:, None].astype(np.float32)
    assert (np.abs(unpacked(packed) - weights) <= 0.51 * steps).all()
