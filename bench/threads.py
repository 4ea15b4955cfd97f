"""As many threads for the model as the product's worker gives it: measurements of another number say little."""

import os

import torch

from infill_engine.worker.__main__ import set_threads


def use_product_threads() -> int:
    """Sets them for this process; how many they are. The environment's INFILL_THREADS overrides, as in the worker."""
    set_threads()
    threads = int(os.environ["OMP_NUM_THREADS"])
    torch.set_num_threads(threads)
    return threads
