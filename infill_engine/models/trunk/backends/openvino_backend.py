"""Computes the trunk on a CPU with OpenVINO. Does not import torch."""

import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import NDArray

from infill_engine.models.runtime.allocator import release_mapped
from infill_engine.models.trunk.backends.interface import PassResult, largest, likeliest, rotations
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoised, Floats, Ints
from infill_engine.models.trunk.forms import Branch, PassForm, branches_of, form_for, forms_of
from infill_engine.models.trunk.graph import OPERATIONS, UNSEEN, WEIGHTS
from infill_engine.models.trunk.graph_heads import BLOCK, LIKELIEST_OF_BLOCKS
from infill_engine.models.trunk.products import rounding_options
from infill_engine.models.trunk.slots import MOST_BLOCKS, SLOTS, TEXTS, Rows
from infill_engine.models.trunk.soft_prompt import SoftPrompt
from infill_engine.models.trunk.sources import Parts

KERNELS = 96  # of each kind that OpenVINO keeps, for sizes of passes; more take hundreds of MB and save no time
KEYS_STEP = 256  # a pass pads its keys to a multiple of this
FEW = 64  # keys that are copied one by one in less time than all of them
FIRST_KEPT = 9  # the number of the graph's first input with kept keys
WANTED_STEP = 8  # and the rows that get predictions to a multiple of this, unless it is a single one
Buffer = Floats  # [layers, 2 * kv_heads, SLOTS, head_dim]: keys, then values


class OpenVinoBackend:
    """Implements `interface.Backend` on a CPU."""

    device = "cpu"

    def __init__(
        self,
        parts: Parts,
        graph: ov.Model | Path,
        threads: int,
    ) -> None:
        """Compile the graph of these parts, or one that is kept in a folder.

        Raises RuntimeError if this processor cannot run it.
        """
        self.config, self.denoiser, self.adapts = parts.source.config, parts.denoiser, parts.edit_adapter is not None
        self.profile = f"int8, {threads} thread" + "s" * (threads > 1)
        compiled = _compile(graph, self.config.dim, threads)
        self._staged = _Staged(self.config)
        self._request = compiled.create_infer_request()
        denoises = self.denoiser is not None
        self.forms, self._branches = forms_of(denoises=denoises), branches_of(denoises=denoises, adapts=self.adapts)
        self._outputs = _by_branch(compiled, len(self._branches))
        self.run(self.new_buffer(), _ONE_ROW, 0)  # packs the matrices
        if isinstance(graph, Path):
            release_mapped(graph / WEIGHTS)  # the embedding stays mapped

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        return np.zeros(self._shape, np.float32)

    @property
    def _shape(self) -> tuple[int, int, int, int]:
        return self.config.layers, 2 * self.config.kv_heads, SLOTS, self.config.head_dim

    def run(self, buffer: Buffer, rows: Rows, first: int) -> PassResult:
        """See `Backend`. More rows than the largest form has are read in several passes."""
        most = max(form.rows for form in self.forms)
        if len(rows) <= most:
            form = form_for(self.forms, len(rows), len(rows.blocks))
            return self._run(buffer, rows, first, Branch(form, rows.adapted))
        assert not rows.blocks
        before = self.run(buffer, rows.part(slice(most)), min(first, most - 1))
        after = self.run(buffer, rows.part(slice(most, None)), max(first - most, 0))
        if first >= most:
            return after
        return PassResult(
            np.concatenate([before.logprobs, after.logprobs]), np.concatenate([before.likeliest, after.likeliest])
        )

    def _run(self, buffer: Buffer, rows: Rows, first: int, branch: Branch) -> PassResult:
        """Run one pass of a branch."""
        form, number, blocks = branch.form, self._branches.index(branch), rows.blocks
        slots, every = np.array(rows.slots), sum(form)
        kept = self._kept(rows, slots)
        positions = np.zeros(every, np.int64)
        positions[: len(rows)], positions[form.rows : form.rows + len(blocks)] = rows.positions, rows.mask_positions
        size = self._staged.size_for(len(kept) + every)
        own = np.arange(size - every, size, dtype=np.int32)
        inputs: list[Any] = [
            np.array(number, np.int32),
            _padded(rows.ids, form.rows),
            _padded(range(first, len(rows)), _wanted(len(rows) - first, form), len(rows) - 1),
            *(table[None, None] for table in rotations(self.config, positions)),
            _mask(rows, kept, form, size),
            own,
            _padded(blocks.anchors, MOST_BLOCKS),
            _padded(blocks.numbers * self.denoiser.slots + blocks.slots if self.denoiser else (), form.masks),
        ]
        for place, array in enumerate(inputs):
            self._request.set_input_tensor(place, ov.Tensor(array, shared_memory=True))
        self._staged.load(self._request, buffer, kept, size)
        self._request.infer()
        found = {name: self._request.get_output_tensor(place).data for name, place in self._outputs[number].items()}
        buffer[:, :, slots] = found["new"][:, :, : len(rows)]
        self._staged.forget(buffer, slots)
        denoised = None
        if blocks:
            of_words, words = _likeliest(found, "denoised", len(blocks))
            chances = np.take_along_axis(of_words, words, 1)
            denoised = Denoised(words, chances, found["confidence"][: len(blocks), 0].copy())
        logprobs, tokens = _likeliest(found, "logprobs", len(rows) - first)
        return PassResult(logprobs.copy(), tokens, denoised)  # the next pass overwrites the request's memory

    def copy(self, buffer: Buffer, slots: Sequence[int], to: int) -> None:
        """See `Backend`."""
        buffer[:, :, to : to + len(slots)] = buffer[:, :, list(slots)]
        self._staged.forget(buffer, slice(to, to + len(slots)))

    def copy_from(self, buffer: Buffer, other: Buffer, slots: slice) -> None:
        """See `Backend`."""
        buffer[:, :, slots] = other[:, :, slots]
        self._staged.forget(buffer, slots)

    def write(self, buffer: Buffer, slots: slice, prompt: SoftPrompt) -> None:
        """See `Backend`."""
        buffer[:, : self.config.kv_heads, slots] = prompt.keys
        buffer[:, self.config.kv_heads :, slots] = prompt.values
        self._staged.forget(buffer, slots)

    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = rotations(self.config, np.array([by]))
        keys, half = buffer[:, : self.config.kv_heads, slots], self.config.head_dim // 2
        turned = np.concatenate([-keys[..., half:], keys[..., :half]], -1)
        keys[:] = keys * cos + turned * sin
        self._staged.forget(buffer, slots)

    def _kept(self, rows: Rows, slots: Ints) -> Ints:
        """Return the slots of earlier tokens that any row sees."""
        return np.setdiff1d(np.flatnonzero(rows.seen.any(0)), slots, assume_unique=True)


def _compile(graph: ov.Model | Path, width: int, threads: int) -> ov.CompiledModel:
    """Compile a graph, or the folder of a kept one, for this machine's CPU. Raises RuntimeError.

    `width` is the size of a row.
    """
    options: dict[str, Any] = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "CPU_RUNTIME_CACHE_CAPACITY": KERNELS,
        "SNIPPETS_MODE": "DISABLE",  # code for each group of operations saves no time, and takes 30 MB for each form
        **rounding_options(width),
    }
    if isinstance(graph, Path):
        # OpenVINO keeps what it compiles beside the graph, without another copy of the weights.
        options |= {"CACHE_DIR": str(graph), "CACHE_MODE": "OPTIMIZE_SIZE"}
        return ov.Core().compile_model(graph / OPERATIONS, "CPU", options)
    return ov.Core().compile_model(graph, "CPU", options)


class _Staged:
    """The kept keys and values of the last pass, side by side as the graph reads them.

    The next pass after the same prompt sees nearly the same tokens, so only the others are copied. The number of keys
    seldom changes, because the plugin plans attention anew for another number.
    """

    def __init__(self, config: TrunkConfig) -> None:
        self._shape = (2 * config.layers, config.kv_heads, config.head_dim)
        self._memory = np.zeros((2 * config.layers, config.kv_heads * config.head_dim * _steps(SLOTS)), np.float32)
        self._buffer: weakref.ref[Buffer] | None = None
        self._slots = np.empty(0, np.int64)  # those that are staged; -1 where the buffer's has changed

    def size_for(self, keys: int) -> int:
        """Return the number of keys of a pass that needs room for some."""
        size = _steps(keys)
        return len(self._slots) if size <= len(self._slots) <= size + KEYS_STEP else size

    def load(self, request: ov.InferRequest, buffer: Buffer, slots: Ints, size: int) -> None:
        """Let a request read `size` keys and values of each layer: those in `slots`, then any others."""
        parts, heads, dim = self._shape
        staged = self._memory[:, : heads * size * dim].reshape(parts, 1, heads, size, dim)
        if len(self._slots) != size:
            self._slots = np.full(size, -1)
            for number, array in enumerate(staged):
                request.set_input_tensor(FIRST_KEPT + number, ov.Tensor(array, shared_memory=True))
        if self._buffer is None or self._buffer() is not buffer:
            self._buffer = weakref.ref(buffer)
            self._slots[:] = -1
        (changed,) = np.nonzero(self._slots[: len(slots)] != slots)
        source = buffer.reshape(parts, 1, heads, -1, dim)
        if len(changed) > FEW:
            every = np.concatenate([slots, np.zeros(size - len(slots), np.int64)])
            for array, own in zip(staged, source, strict=True):
                np.take(own, every, axis=2, out=array, mode="clip")
        else:
            staged[:, :, :, changed] = source[:, :, :, slots[changed]]
        self._slots[: len(slots)] = slots

    def forget(self, buffer: Buffer, slots: Ints | slice) -> None:
        """Copy these slots again when a pass sees them, because they have changed."""
        if self._buffer is not None and self._buffer() is buffer:
            changed = np.zeros(SLOTS, np.bool_)
            changed[slots] = True
            self._slots[changed[self._slots]] = -1


def _by_branch(compiled: ov.CompiledModel, branches: int) -> list[dict[str, int]]:
    """Return the places of each branch's outputs by name."""
    found: list[dict[str, int]] = [{} for _ in range(branches)]
    for place, output in enumerate(compiled.outputs):
        name, _, number = output.node.friendly_name.rpartition(".")
        found[int(number)][name] = place
    return found


def _likeliest(found: Mapping[str, Floats], name: str, rows: int) -> tuple[Floats, Ints]:
    """Return the log-probabilities of the first rows of an output, and the likeliest of each row."""
    logprobs, of_blocks = found[name][:rows], found.get(f"{name}.{LIKELIEST_OF_BLOCKS}")
    return logprobs, likeliest(logprobs, None if of_blocks is None else in_largest_blocks(of_blocks[:rows]))


def in_largest_blocks(of_blocks: Floats) -> Ints:
    """Return the tokens [W, N] among which are the likeliest ones, given the largest value of each BLOCK tokens."""
    return (largest(of_blocks)[:, :, None] * BLOCK + np.arange(BLOCK)).reshape(len(of_blocks), -1)


def _steps(keys: int) -> int:
    return -(-keys // KEYS_STEP) * KEYS_STEP


def _padded(values: Iterable[int], size: int, filler: int = 0) -> NDArray[np.int32]:
    found = np.full(size, filler, np.int32)
    given = np.fromiter(values, np.int32)
    found[: len(given)] = given
    return found


def _wanted(rows: int, form: PassForm) -> int:
    """Return how many rows get predictions, so that at least this many do."""
    return rows if rows == 1 else min(-(-rows // WANTED_STEP) * WANTED_STEP, form.rows)


def _mask(rows: Rows, kept: Ints, form: PassForm, size: int) -> Floats:
    """Return what each row and mask row of a form sees among the keys [T + M, size]: 0 where it does, else UNSEEN.

    The keys are those in the slots `kept`, others that nobody sees, and last those of the rows themselves.
    """
    count, blocks, numbers = len(rows), rows.blocks, rows.blocks.numbers
    mask = np.full((sum(form), size), UNSEEN, np.float32)
    own = mask[:, size - sum(form) :]
    mask[:count, : len(kept)][rows.seen[:, kept]] = 0
    own[:count, :count][rows.seen[:, rows.slots]] = 0
    masks = slice(form.rows, form.rows + len(blocks))
    mask[masks] = mask[blocks.behind]
    own[masks, masks][numbers[:, None] == numbers] = 0
    return mask


_ONE_ROW = Rows([0], [0], [TEXTS], np.arange(SLOTS)[None] == TEXTS, 0)
