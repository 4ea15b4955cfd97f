"""The interface of the backends that compute the trunk: OpenVINO, torch and MLX."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoised, Denoiser, Floats, Ints
from infill_engine.models.trunk.forms import Form
from infill_engine.models.trunk.slots import NO_BLOCKS, Blocks, Rows
from infill_engine.models.trunk.soft_prompt import SoftPrompt

LIKELIEST = 24  # tokens kept after each row, and words for each mask row


@dataclass(frozen=True, slots=True)
class Likely:
    """The predictions after some rows: log-probabilities [T, V] in nats, and the likeliest tokens [T, LIKELIEST], best
    first.
    """

    logprobs: Floats
    tokens: Ints
    denoised: Denoised | None = None  # what the pass's blocks propose


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
    def forms(self) -> Sequence[Form]:
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

    def run(self, buffer: Any, rows: Rows, first: int, blocks: Blocks = NO_BLOCKS) -> Likely:
        """Run one pass over rows, and over the mask rows of the blocks after them.

        Writes the rows' keys and values to their slots, and keeps nothing of mask rows. Returns the predictions from
        row `first` on. Adapted rows have no blocks.
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
