"""Measuring on one thread: several spin while they wait for each other.

What they spin counts as processor time, and how long they do so depends on other programs.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch

from infill_engine.models.base import Model
from infill_engine.models.trunk.model import TrunkModel


@contextmanager
def on_one_thread(model: Model) -> Iterator[None]:
    """Compute on one thread."""
    threads, usual = model.threads if isinstance(model, TrunkModel) else None, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threads.fewest() if threads is not None else nullcontext():
            yield
    finally:
        torch.set_num_threads(usual)
