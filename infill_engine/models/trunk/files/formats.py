"""The formats of the trunk's shards: how weights are rounded to them, and how they are read back.

    four bits    groups of 64 or 32 weights of a row share a scale; a weight is one of 16 uneven levels
    five bits    groups of 32, and 32 even levels, which hold a Q5_0 tensor of a GGUF file exactly
    eight bits   one scale for a row

In four and five bits a weight is `level / 128 * scale`. The levels of four bits are denser where weights are more
frequent: they were fitted to this model. In eight bits a weight is `code * scale`.

Rounding is deterministic: every machine must rebuild the same bytes. It uses only elementwise IEEE operations of numpy
and adds in a fixed order; no matrix product or library reduction decides a rounding. Each group takes the scale with
the least squared error, weighted by the importance of its input channels.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]

FOUR = (-127, -102, -82, -65, -50, -35, -20, -8, 0, 11, 23, 36, 51, 67, 87, 112)
FIVE = tuple(range(-128, 128, 8))
LEVELS = {4: FOUR, 5: FIVE}
WHOLE = 128  # the level that represents the scale itself
# Tried as the level of a group's largest weight, relative to the lowest level; 1 first, for exactly representable ones.
STRETCHES = (1.0, 0.80, 0.84, 0.88, 0.91, 0.94, 0.97, 1.03, 1.06, 1.10)
ROW_CODES = 127  # codes of eight bits are between this and its negative
BLOCK = 1 << 18  # weights at a time, so that intermediate results stay in the cache
WIDE_BLOCK = 1 << 22  # the same where each read has a setup cost


@dataclass(frozen=True, slots=True)
class Format:
    """Bits of a code, and how many weights of a row share a scale; in eight bits the whole row does."""

    bits: int
    group: int = 0

    def bytes_of(self, rows: int, columns: int) -> int:
        """Return the size of a matrix [rows, columns]."""
        return rows * (columns * self.bits // 8 + 2 * (columns // self.group if self.group else 1))


FOUR_BITS_64, FOUR_BITS, FIVE_BITS, EIGHT_BITS = Format(4, 64), Format(4, 32), Format(5, 32), Format(8)


@dataclass(frozen=True, slots=True)
class PackedBlocks:
    """A matrix [N, K] as stored: two codes in a byte, and the fifth bits of eight codes in another."""

    codes: Bytes | NDArray[np.int8]  # [N, K / 2], in eight bits int8 [N, K]
    scales: NDArray[np.float16]  # [N, K / group], in eight bits [N]
    high: Bytes | None = None  # [N, K / 8]


def pack(weights: Floats, importance: Floats, stored: Format) -> PackedBlocks:
    """Pack weights [N, K] in a format. `importance` [K] weighs the errors of each input channel."""
    if stored == EIGHT_BITS:
        return PackedBlocks(*pack_rows(weights))
    bits, group = stored.bits, stored.group
    rows = max(1, BLOCK // weights.shape[1])
    blocks = [_round(weights[start : start + rows], importance, bits, group) for start in range(0, len(weights), rows)]
    codes = np.concatenate([codes for codes, _ in blocks])
    nibbles = codes & 15
    high = np.packbits(codes >> 4, axis=1, bitorder="little") if bits == 5 else None
    low = nibbles[:, 0::2] | nibbles[:, 1::2] << 4
    return PackedBlocks(low.astype(np.uint8), np.concatenate([scales for _, scales in blocks]), high)


def pack_rows(weights: Floats) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Pack weights [N, K] as int8 codes [N, K] with a scale [N] for each row: a weight is `code * scale`."""
    scales = (np.abs(weights).max(1) / np.float32(ROW_CODES)).astype(np.float16)
    codes = np.rint(weights / _divisor(scales.astype(np.float32))[:, None])
    return np.clip(codes, -ROW_CODES, ROW_CODES).astype(np.int8), scales


def pack_blocks(read: Callable[[slice], Floats], shape: tuple[int, int]) -> tuple[NDArray[np.int8], Floats]:
    """Pack a matrix of this shape as `pack_rows` does, a few rows at a time. `read` returns them."""
    codes, scales = np.empty(shape, np.int8), np.empty(shape[0], np.float32)
    rows = max(1, WIDE_BLOCK // shape[1])
    for start in range(0, shape[0], rows):
        part = slice(start, start + rows)
        codes[part], scales[part] = pack_rows(read(part))
    return codes, scales


def unpack(codes: Bytes | NDArray[np.int8], scales: NDArray[np.float16], high: Bytes | None = None) -> Floats:
    """Return the matrix [N, K] in float32, from the arrays of `PackedBlocks`. One thread takes 0.7 s for the trunk."""
    steps = scales.astype(np.float32)[..., None]
    if codes.dtype == np.int8:
        whole: Floats = codes * steps
        return whole
    steps /= WHOLE
    table = _NIBBLES[4 if high is None else 5]
    weights = np.empty((len(codes), 2 * codes.shape[1]), np.float32)
    groups = weights.reshape(*scales.shape, -1)
    rows = max(1, BLOCK // weights.shape[1])
    for start in range(0, len(codes), rows):
        part = slice(start, start + rows)
        levels = np.take(table, codes[part]).view(np.int8)
        if high is not None:
            levels += np.take(_FIFTH_BITS, high[part]).view(np.int8)
        np.multiply(levels.reshape(groups[part].shape), steps[part], out=groups[part])
    return weights


def _round(weights: Floats, importance: Floats, bits: int, group: int) -> tuple[Bytes, NDArray[np.float16]]:
    """Return codes [N, K] and scales [N, K / group] of a few rows."""
    count = len(weights)
    x = _by_place(weights, group)  # [group, N * K / group]
    weight = _by_place(np.broadcast_to(importance, weights.shape), group)
    extreme = np.take_along_axis(x, np.abs(x).argmax(0)[None], 0)[0] * np.float32(WHOLE / LEVELS[bits][0])
    levels = np.array(LEVELS[bits], np.float32)
    least: Floats | None = None
    for stretch in STRETCHES:
        scales = (extreme * np.float32(stretch)).astype(np.float16)
        step = scales.astype(np.float32) / np.float32(WHOLE)
        places = np.clip(np.rint(x / _divisor(step)), -WHOLE, WHOLE - 1).astype(np.int16) + WHOLE
        codes = _NEAREST[bits][places]
        error = _sum(np.square(levels[codes] * step - x) * weight)
        if least is None:
            least, best_codes, best_scales = error, codes, scales
            if not error.any():
                break
            continue
        better = error < least
        least = np.where(better, error, least)
        best_codes, best_scales = np.where(better, codes, best_codes), np.where(better, scales, best_scales)
    return best_codes.reshape(group, count, -1).transpose(1, 2, 0).reshape(count, -1), best_scales.reshape(count, -1)


def _by_place(weights: Floats, group: int) -> Floats:
    """Return [N, K] as [group, N * K / group]: the first weights of all groups, then the second ones, and so on."""
    placed: Floats = np.ascontiguousarray(weights.reshape(-1, group).T)
    return placed


def _sum(values: Floats) -> Floats:
    """Return the sum over the first axis, added in order."""
    total: Floats = values[0].copy()
    for row in values[1:]:
        total += row
    return total


def _divisor(scales: Floats) -> Floats:
    divisor: Floats = np.where(scales == 0, np.float32(1), scales)
    return divisor


def _nearest(levels: tuple[int, ...]) -> Bytes:
    """Return the code of the nearest level for each of -128, -127, … 127; in a tie, the lower one."""
    codes = [min(range(len(levels)), key=lambda code: abs(levels[code] - place)) for place in range(-WHOLE, WHOLE)]
    return np.array(codes, np.uint8)


def _table(levels: list[list[int]], dtype: type[np.integer]) -> NDArray[np.integer]:
    """Return 256 entries: the levels of each byte's codes, side by side in one number."""
    return np.array(levels, np.int8).view(dtype).ravel()


_NEAREST = {bits: _nearest(levels) for bits, levels in LEVELS.items()}
_NIBBLES = {
    bits: _table([[levels[byte & 15], levels[byte >> 4]] for byte in range(256)], np.int16)
    for bits, levels in LEVELS.items()
}
# In int8, adding 128 and subtracting 128 are the same.
_FIFTH_BITS = _table([[-WHOLE * (byte >> place & 1) for place in range(8)] for byte in range(256)], np.int64)
