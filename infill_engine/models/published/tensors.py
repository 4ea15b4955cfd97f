"""Arrays that the host lays out as tensors where a network computes."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

ToTensor = Callable[[NDArray[np.generic]], Tensor]


def to_device(device: str | torch.device) -> ToTensor:
    """What copies an array to `device`, contiguous there, shape and kind of number as they are."""
    return lambda values: torch.from_numpy(np.ascontiguousarray(values)).to(device)
