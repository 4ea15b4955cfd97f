"""What computes the trunk: the interface that torch and MLX implement."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import MaskProposals
from infill_engine.models.trunk.slots import MaskRows, Rows

LIKELIEST = 24  # tokens that are picked out behind each row
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Likely:
    """What follows some rows: log-probabilities [T, V] in nats, and the likeliest tokens [T, LIKELIEST], best first.

    `proposals` are what mask rows make of what follows after that.
    """

    logprobs: Floats
    tokens: Ints
    proposals: MaskProposals | None = None


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

    def new_buffer(self) -> Any: ...

    @property
    def survival(self) -> tuple[float, ...]:
        """How often each token of a block of mask rows is right, given those before it; () without masks."""
        ...

    def run(self, buffer: Any, rows: Rows, first: int, masks: MaskRows | None = None) -> Likely:
        """One pass over rows, whose keys and values go to their slots; what follows the rows from `first` on.

        Mask rows change nothing about the other rows.
        """
        ...

    def rotate(self, buffer: Any, slots: slice, by: int) -> None:
        """Moves the keys in some slots on by so many positions: rotations add up."""
        ...
