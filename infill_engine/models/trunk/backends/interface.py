"""The interface that computes the trunk, implemented by OpenVINO, torch and MLX."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.slots import Rows

LIKELIEST = 24  # tokens that are selected after each row
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Likely:
    """The predictions after some rows: log-probabilities [T, V] in nats, and the likeliest tokens [T, LIKELIEST], best
    first.
    """

    logprobs: Floats
    tokens: Ints


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

    def run(self, buffer: Any, rows: Rows, first: int) -> Likely:
        """One pass over rows, whose keys and values go to their slots; returns the predictions from row `first` on."""
        ...

    def copy(self, buffer: Any, slots: Sequence[int], to: int) -> None:
        """Copy the keys and values of some slots to the slots from `to` on. The positions stay the same."""
        ...

    def copy_from(self, buffer: Any, other: Any, slots: slice) -> None:
        """Copy the keys and values of some slots from another buffer."""
        ...

    def rotate(self, buffer: Any, slots: slice, by: int) -> None:
        """Shift the keys in some slots by `by` positions: rotations add up."""
        ...
