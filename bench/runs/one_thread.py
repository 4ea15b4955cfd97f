"""Measuring on one thread of torch: several spin while they wait for each other.

What they spin counts as processor time, and how long they do so depends on other programs.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Compute on one thread."""
    usual = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(usual)
