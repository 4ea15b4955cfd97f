"""Computes the network in torch, and single tokens on a CPU in numpy."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from infill_engine.models.base import Ints
from infill_engine.models.canvas.canvas import Canvas
from infill_engine.models.runtime.profile import profile_of
from infill_engine.models.small.backends.interface import joined
from infill_engine.models.small.backends.torch_writer import TorchWriter, roomy
from infill_engine.models.small.drafting import last_two
from infill_engine.models.small.encoded import Prompt, Side, Sides, Stream, first
from infill_engine.models.small.network.attention import HIDDEN
from infill_engine.models.small.network.dual_encoder import MASK, PAD, PREFIX, DualEncoder
from infill_engine.models.small.network.layers import Frames, KeysValues, Visible, rotate
from infill_engine.models.small.network.numpy_encoder import fastest_write, is_narrow
from infill_engine.models.small.scoring import Tree

# Shapes are rounded up to blocks where a matrix library compiles and keeps a kernel per shape. With every length as its
# own shape, that would cost a gigabyte within minutes of typing, and time for every new shape.
KEY_BLOCK = 64
SLOT_BLOCK = 16
TOKEN_BLOCK = 32
FEW = 16  # up to this many tokens use `write` instead of the padded encoder, if that is done in numpy


class TorchBackend:
    """Implements `backend.Backend` for a network on a torch `device`."""

    def __init__(self, network: DualEncoder, device: str) -> None:
        self.network = network
        self.config = network.config
        self.device = device
        self.profile = profile_of(network.precision) if device == "cpu" else ""
        self._write = fastest_write(network)
        self._in_blocks = not is_narrow(network)  # CPU kernels for float32 and int8 handle every shape

    def empty_stream(self) -> Stream[Tensor]:
        weight = self.network.smear
        nothing = weight.new_empty(1, self.config.heads, 0, self.config.head_dim)
        states = weight.new_empty(1, 0, self.config.dim)
        return Stream((), ((nothing, nothing),) * self.config.decoder_layers, states)

    def extend(self, stream: Stream[Tensor], ids: Ints, direction: int) -> Stream[Tensor]:
        start, new = stream.length, len(ids) - stream.length
        states, encoder = self._read_padded(ids, start, direction, stream.encoder)
        positions = torch.arange(start, start + states.shape[1], device=self.device)
        added = [first(each, new) for each in self.network.context_kv(states, self.network.rotary(positions))]
        decoder = [joined(self, old, each) for old, each in zip(stream.decoder, added, strict=True)] if start else added
        states = states[:, :new]
        return Stream(tuple(encoder), tuple(decoder), torch.cat([stream.states, states], 1) if start else states)

    def side(self, stream: Stream[Tensor]) -> Side[Tensor]:
        length, states = stream.length, stream.states
        shown = max(length, 1)  # a softmax needs at least one key
        padding = shown - length + (-shown % KEY_BLOCK if self._in_blocks else 0)
        keys_values, hidden = stream.decoder, None
        if padding:
            hidden = torch.zeros(1, 1, 1, length + padding, dtype=states.dtype, device=self.device)
            hidden[..., length:] = HIDDEN
            keys_values = tuple(
                (pad(key, (0, 0, 0, padding)), pad(value, (0, 0, 0, padding))) for key, value in keys_values
            )
        edge = states[:, -1:] if length else states.new_zeros(1, 1, states.shape[-1])
        return Side(keys_values, hidden, edge, length)

    def length_logits(self, sides: Sides[Tensor], kind: int) -> Tensor:
        return self.network.length_logits(_edges(sides), torch.tensor([[kind]], device=self.device))[0, 0]

    def canvas_logits(self, sides: Sides[Tensor], kind: int, canvas: Canvas, wanted: Ints) -> Tensor:
        padded = _padded(canvas) if self._in_blocks else canvas
        index = self._tensor(padded.index)
        rotary = self.network.rotary
        in_prefix, in_suffix = sides.first_slot
        frames = Frames(rotary(index), rotary(in_prefix + index), rotary(in_suffix - index))
        kinds = torch.full((1, padded.slots), kind, device=self.device)
        x = self.network.canvas_input(self._tensor(padded.ids), self._tensor(padded.left), kinds, _edges(sides))
        row = self._tensor(padded.row)[0]
        apart = torch.where(row[:, None] == row, 0.0, HIDDEN).to(x.dtype)[None, None]
        visible = Visible(sides.prefix.hidden, sides.suffix.hidden, apart)
        states = self.network.decode(x, frames, sides.prefix.keys_values, sides.suffix.keys_values, visible)
        chosen = np.pad(wanted, (0, -len(wanted) % SLOT_BLOCK if self._in_blocks else 0), mode="edge")
        return self.network.logits(states[0, self._tensor(chosen)[0]])[: len(wanted)].float()

    def read(
        self, ids: Ints, start: int, direction: int, past: Sequence[KeysValues] = ()
    ) -> tuple[Tensor, list[KeysValues]]:
        states, encoder = self._read_padded(ids, start, direction, past)
        return states[:, : len(ids) - start], encoder

    def move(self, keys: Tensor, by: int) -> Tensor:
        return rotate(keys, self.network.rotary(torch.tensor([by], device=self.device)))

    def concatenate(self, arrays: Sequence[Tensor], axis: int) -> Tensor:
        return torch.cat(list(arrays), axis)

    def writer(self, prompt: Prompt[Tensor], rows: int) -> TorchWriter:
        return TorchWriter(self.network, self._write, prompt.encoder, prompt.states[:, -1:], prompt.ids, rows)

    def tree_logprobs(self, prompt: Prompt[Tensor], tree: Tree) -> NDArray[np.float32]:
        states = prompt.states[0, -1:]
        if len(tree.tokens):
            states = torch.cat([states, self._tree_states(prompt, tree)])
        return np.asarray(torch.log_softmax(self.network.logits(states).float(), -1).cpu())

    def _tree_states(self, prompt: Prompt[Tensor], tree: Tree) -> Tensor:
        """Return stream states [n, D] of a tree's tokens after the prompt."""
        new = len(tree.tokens)
        padding = self._padding(new)
        seen = np.pad(tree.seen(), (0, padding))
        histories = np.array([*tree.histories(last_two(prompt.ids), 3), *[[PAD] * 3] * padding])
        direction = torch.full((new + padding,), PREFIX, device=self.device)
        x = self.network.embed(self._tensor(histories)[0], direction)[:, -1].unsqueeze(0)
        positions = np.pad(len(prompt.ids) + tree.depths, (0, padding))
        states, _ = self._written(x, positions, seen, prompt.encoder)
        return states[0, :new]

    def _read_padded(
        self, ids: Ints, start: int, direction: int, past: Sequence[KeysValues]
    ) -> tuple[Tensor, list[KeysValues]]:
        """Like `read`, but the states may be followed by padding."""
        new = len(ids) - start
        padding = self._padding(new)
        # The n-gram embedding looks two tokens back. Padding comes last, where a causal stream cannot see it.
        tail = self._tensor(np.pad(ids[max(0, start - 2) :], (0, padding)))
        x = self.network.embed(tail, torch.tensor([direction], device=self.device))[:, -(new + padding) :]
        positions = np.arange(start, start + new + padding)
        if new <= FEW and not self._in_blocks:
            states, layers = self._written(x, positions, np.tri(new + padding, dtype=bool), past)
        else:
            states, layers = self.network.encode(x, self.network.rotary(self._tensor(positions)[0]), past)
        return states, [first(keys_values, keys_values[0].shape[2] - padding) for keys_values in layers]

    def _written(
        self, x: Tensor, positions: Ints, seen: NDArray[np.bool_], past: Sequence[KeysValues]
    ) -> tuple[Tensor, list[KeysValues]]:
        """Return stream states of embedded tokens x [1, T, D], and all keys and values, including those of `past`.

        A token sees `past` and the tokens that `seen` [T, T] allows.
        """
        nothing = x.new_empty(1, self.config.heads, 0, self.config.head_dim)
        past = past or [(nothing, nothing)] * self.config.encoder_layers
        new, known = len(seen), past[0][0].shape[2]
        room = [(roomy(keys, known + new), roomy(values, known + new)) for keys, values in past]
        visible = self._tensor(np.pad(seen, ((0, 0), (known, 0)), constant_values=True))
        hidden = torch.where(visible, 0.0, HIDDEN).to(x.dtype)[None]
        return self._write(x, self.network.rotary(self._tensor(positions)[0]), room, known, hidden), room

    def _padding(self, tokens: int) -> int:
        """Return the padding for a stream extension: it gives few distinct sizes, little above `tokens`."""
        if not self._in_blocks:
            return 0
        block = 1 << (tokens - 1).bit_length() if tokens <= TOKEN_BLOCK else TOKEN_BLOCK
        return -tokens % block

    def _tensor(self, values: NDArray[np.generic]) -> Tensor:
        """[n] -> [1, n] on the device."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device).unsqueeze(0)


def _edges(sides: Sides[Tensor]) -> Tensor:
    """Return the states [1, 1, 2D] next to the hole."""
    return torch.cat([sides.prefix.edge, sides.suffix.edge], -1)


def _padded(canvas: Canvas) -> Canvas:
    """Return the canvas followed by masked slots that belong to no row, up to a whole block."""
    padding = -canvas.slots % SLOT_BLOCK
    return Canvas(
        ids=np.pad(canvas.ids, (0, padding), constant_values=MASK),
        state=canvas.state,
        logprob=canvas.logprob,
        row=np.pad(canvas.row, (0, padding), constant_values=canvas.rows),
        index=np.pad(canvas.index, (0, padding)),
        lengths=np.append(canvas.lengths, 1),
    )
