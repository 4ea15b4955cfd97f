"""Computes the trunk on a CPU with OpenVINO. Does not import torch."""

from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

from infill_engine.models.runtime.allocator import release_mapped
from infill_engine.models.trunk.backends.interface import LIKELIEST, Likely
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoised, Denoiser, Floats, Ints
from infill_engine.models.trunk.graph import BLOCK, BLOCKS, UNSEEN, WEIGHTS, compile_graph
from infill_engine.models.trunk.slots import NO_BLOCKS, SLOTS, TEXTS, Blocks, Rows
from infill_engine.models.trunk.soft_prompt import SoftPrompt

KEYS_STEP = 32  # a pass pads its kept keys to a multiple of this, because the plugin plans anew for each number
Buffer = Floats  # [layers, 2 * kv_heads, SLOTS, head_dim]: keys, then values


class OpenVinoBackend:
    """Implements `interface.Backend` on a CPU."""

    device = "cpu"

    def __init__(
        self, config: TrunkConfig, graph: ov.Model | Path, threads: int, denoiser: Denoiser | None = None
    ) -> None:
        """Compile a graph with this denoiser, or one that is kept in a folder.

        Raises RuntimeError if this processor cannot run it.
        """
        self.config, self.denoiser = config, denoiser
        self.profile = f"int8, {threads} thread" + "s" * (threads > 1)
        compiled = compile_graph(graph, config.dim, threads)
        self._staging = np.empty(prod(self._shape), np.float32)
        self._request = compiled.create_infer_request()
        self._outputs = {output.node.friendly_name: output for output in compiled.outputs}
        self.run(self.new_buffer(), _ONE_ROW, 0)  # packs the matrices
        if isinstance(graph, Path):
            release_mapped(graph / WEIGHTS)  # the embedding stays mapped

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        return np.zeros(self._shape, np.float32)

    @property
    def _shape(self) -> tuple[int, int, int, int]:
        return self.config.layers, 2 * self.config.kv_heads, SLOTS, self.config.head_dim

    def run(self, buffer: Buffer, rows: Rows, first: int, blocks: Blocks = NO_BLOCKS) -> Likely:
        """See `Backend`."""
        slots = np.array(rows.slots)
        kept = self._kept(rows, slots)
        mask = np.full((len(rows), len(kept) + len(rows)), UNSEEN, np.float32)
        mask[:, : len(kept)][rows.seen[:, kept]] = 0
        mask[:, : len(kept)][:, np.isin(kept, slots)] = UNSEEN  # rows see the new keys of these slots
        mask[:, len(kept) :][rows.seen[:, slots]] = 0
        wanted = np.arange(first, len(rows), dtype=np.int32)
        behind = np.array(rows.positions)[blocks.behind] + 1 + blocks.slots
        cos, sin = self._rotations([*rows.positions, *behind])
        inputs: list[Any] = [np.array(rows.ids, np.int32), wanted, *self._gathered(buffer, kept)]
        inputs += [cos[:, :, : len(rows)], sin[:, :, : len(rows)], mask]
        if self.denoiser is not None:
            slots_of_blocks = blocks.numbers * self.denoiser.slots + blocks.slots
            inputs += [np.array(blocks.anchors or [0], np.int32), slots_of_blocks.astype(np.int32)]
            inputs += [cos, sin, _with_blocks(mask, blocks)]
        result = self._request.infer(inputs, share_inputs=True, share_outputs=True)
        found = {name: result[output] for name, output in self._outputs.items()}
        for layer in range(self.config.layers):
            buffer[layer][:, slots] = found[f"new.{layer}"]
        logprobs = found["logprobs"].copy()  # the next pass overwrites the request's memory
        denoised = None
        if blocks:
            words = likeliest(found["denoised"], found.get(f"denoised.{BLOCKS}"))
            chances = np.take_along_axis(found["denoised"], words, 1)
            denoised = Denoised(words, chances, found["confidence"][:, 0].copy())
        return Likely(logprobs, likeliest(logprobs, found.get(f"logprobs.{BLOCKS}")), denoised)

    def copy(self, buffer: Buffer, slots: Sequence[int], to: int) -> None:
        """See `Backend`."""
        buffer[:, :, to : to + len(slots)] = buffer[:, :, list(slots)]

    def copy_from(self, buffer: Buffer, other: Buffer, slots: slice) -> None:
        """See `Backend`."""
        buffer[:, :, slots] = other[:, :, slots]

    def write(self, buffer: Buffer, slots: slice, prompt: SoftPrompt) -> None:
        """See `Backend`."""
        buffer[:, : self.config.kv_heads, slots] = prompt.keys
        buffer[:, self.config.kv_heads :, slots] = prompt.values

    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = self._rotations([by])
        keys, half = buffer[:, : self.config.kv_heads, slots], self.config.head_dim // 2
        turned = np.concatenate([-keys[..., half:], keys[..., :half]], -1)
        keys[:] = keys * cos + turned * sin

    def _kept(self, rows: Rows, slots: Ints) -> Ints:
        """Return the slots whose keys any row sees, padded to a multiple of KEYS_STEP."""
        used = np.flatnonzero(rows.seen.any(0))
        used = np.setdiff1d(used, slots, assume_unique=True)
        missing = -len(used) % KEYS_STEP or (0 if len(used) else KEYS_STEP)
        return np.concatenate([used, np.full(missing, slots[0], used.dtype)])  # hidden from every row

    def _gathered(self, buffer: Buffer, kept: Ints) -> Iterator[Floats]:
        """Yield the kept keys and values of each layer, [kv_heads, S, head_dim] each, in reused memory."""
        heads, shape = self.config.kv_heads, (*buffer.shape[:2], len(kept), buffer.shape[3])
        gathered = self._staging[: prod(shape)].reshape(shape)
        np.take(buffer, kept, axis=2, out=gathered, mode="clip")
        for layer in gathered:
            yield layer[:heads]
            yield layer[heads:]

    def _rotations(self, positions: Sequence[int]) -> tuple[Floats, Floats]:
        """Return cosines and sines [1, 1, T, head_dim]; see `network.rotations`."""
        half = np.arange(0, self.config.head_dim, 2, dtype=np.float32) / self.config.head_dim
        angles = np.array(positions, np.float32)[:, None] * (1 / np.float32(self.config.rope_theta) ** half)
        angles = np.concatenate([angles, angles], -1)[None, None]
        return np.cos(angles), np.sin(angles)


def _with_blocks(mask: Floats, blocks: Blocks) -> Floats:
    """Return the `mask` [T, S + T] of rows, extended to [T + M, S + T + M] by the mask rows after them."""
    numbers, (rows, seen) = blocks.numbers, mask.shape
    whole = np.full((rows + len(numbers), seen + len(numbers)), UNSEEN, np.float32)
    whole[:rows, :seen] = mask
    whole[rows:, :seen] = mask[blocks.behind]
    whole[rows:, seen:][numbers[:, None] == numbers] = 0
    return whole


def likeliest(logprobs: Floats, of_blocks: Floats | None) -> Ints:
    """Return the LIKELIEST tokens [W, LIKELIEST] of each row, best first; the lower number first if two are equal.

    `of_blocks` has the largest value of each BLOCK tokens. The blocks with the largest ones have the likeliest tokens.
    """
    if of_blocks is None:
        return np.argsort(-logprobs, axis=1, kind="stable")[:, :LIKELIEST].astype(np.int64)
    blocks = _largest(of_blocks)
    tokens = (blocks[:, :, None] * BLOCK + np.arange(BLOCK)).reshape(len(logprobs), -1)
    tokens = np.sort(np.take_along_axis(tokens, _largest(np.take_along_axis(logprobs, tokens, 1)), 1), axis=1)
    order = np.argsort(-np.take_along_axis(logprobs, tokens, 1), axis=1, kind="stable")
    return np.take_along_axis(tokens, order, 1)


def _largest(values: Floats) -> Ints:
    """Return the indices of the LIKELIEST largest values of each row, in any order."""
    return np.argpartition(values, -LIKELIEST, axis=1)[:, -LIKELIEST:]


_ONE_ROW = Rows([0], [0], [TEXTS], np.arange(SLOTS)[None] == TEXTS, 0)
