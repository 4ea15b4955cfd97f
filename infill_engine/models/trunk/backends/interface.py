"""The interface of the backends that compute the trunk: OpenVINO, torch and MLX."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoised, Denoiser, Floats, Ints
from infill_engine.models.trunk.forms import Form
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
