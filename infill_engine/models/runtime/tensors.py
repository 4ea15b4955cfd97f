"""Copies host arrays to the device of a network."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ToTensor = Callable[[NDArray[np.generic]], Tensor]


def to_device(device: str | torch.device) -> ToTensor:
    """Return a function that copies an array to `device`, contiguous, with its shape and dtype kept."""
    return lambda values: torch.from_numpy(np.ascontiguousarray(values)).to(device)
