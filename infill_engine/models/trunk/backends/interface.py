"""The interface of the backends that compute the trunk, OpenVINO, torch and MLX, and what they do alike on the host."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoised, Denoiser, Floats, Ints
from infill_engine.models.trunk.forms import PassForm
from infill_engine.models.trunk.slots import Rows
from infill_engine.models.trunk.soft_prompt import SoftPrompt

LIKELIEST = 24  # tokens kept after each row, and words for each mask row


@dataclass(frozen=True, slots=True)
class PassResult:
    """The predictions after T rows of a pass: log-probabilities [T, V] in nats, and the likeliest tokens
    [T, LIKELIEST], best first. `denoised` is what the blocks of the pass propose.
    """

    logprobs: Floats
    likeliest: Ints
    denoised: Denoised | None = None


def likeliest(logprobs: Floats, among: Ints | None = None) -> Ints:
    """Return the LIKELIEST tokens [W, LIKELIEST] of each row, best first; the lower number first if two are equal.

    `among` has the only tokens [W, N] that are considered.
    """
    values = logprobs if among is None else np.take_along_axis(logprobs, among, 1)
    best = largest(values)
    tokens = np.sort(best if among is None else np.take_along_axis(among, best, 1), axis=1)
    order = np.argsort(-np.take_along_axis(logprobs, tokens, 1), axis=1, kind="stable")
    return np.take_along_axis(tokens, order, 1)


def largest(values: Floats) -> Ints:
    """Return the indices of the LIKELIEST largest values of each row, in any order."""
    most = min(LIKELIEST, values.shape[1])
    return np.argpartition(values, -most, axis=1)[:, -most:]


def rotations(config: TrunkConfig, positions: Ints) -> tuple[Floats, Floats]:
    """Return cosines and sines [T, head_dim] for rows at `positions` [T] (RoPE, arXiv 2104.09864)."""
    half = np.arange(0, config.head_dim, 2, dtype=np.float32) / config.head_dim
    angles = positions.astype(np.float32)[:, None] * (1 / np.float32(config.rope_theta) ** half)
    angles = np.concatenate([angles, angles], -1)
    return np.cos(angles), np.sin(angles)


class Backend(Protocol):
    """A loaded network on its device. A buffer holds the keys and values of SLOTS slots in every layer."""

    @property
    def config(self) -> TrunkConfig: ...

    @property
    def device(self) -> str: ...

    @property
    def profile(self) -> str:
        """How it computes, such as `int8, 1 thread`."""
        ...

    @property
    def forms(self) -> Sequence[PassForm]:
        """The sizes to which passes are padded, the cheapest first; empty if every size costs its own."""
        ...

    def new_buffer(self) -> Any: ...

    @property
    def denoiser(self) -> Denoiser | None:
        """The weights of mask rows, if this backend has them."""
        ...

    @property
    def adapts(self) -> bool:
        """Whether it has an edit adapter."""
        ...

    def run(self, buffer: Any, rows: Rows, first: int) -> PassResult:
        """Run one pass. Return the predictions from row `first` on.

        Writes the rows' keys and values to their slots, and keeps nothing of mask rows.
        """
        ...

    def copy(self, buffer: Any, slots: Sequence[int], to: int) -> None:
        """Copy the keys and values of some slots to the slots from `to` on. The positions stay the same."""
        ...

    def copy_from(self, buffer: Any, other: Any, slots: slice) -> None:
        """Copy the keys and values of some slots from another buffer."""
        ...

    def write(self, buffer: Any, slots: slice, prompt: SoftPrompt) -> None:
        """Write the keys and values of a soft prompt to some slots, one for each of its rows."""
        ...

    def rotate(self, buffer: Any, slots: slice, by: int) -> None:
        """Shift the keys in some slots by `by` positions: rotations add up."""
        ...
