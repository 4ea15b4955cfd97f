"""How a model computes on this machine, in the words that status and the benchmarks show."""

import torch


def profile_of(precision: str) -> str:
    """Describe a precision and torch's current number of threads, such as `int8, 1 thread`."""
    threads = torch.get_num_threads()
    return f"{precision}, {threads} thread" + "s" * (threads > 1)
