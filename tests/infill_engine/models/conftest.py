"""Checkpoints of the published families in miniature: some random, some that have learnt the toy language."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from torch import nn
from toy import Frame, learn_to_fill

from infill_engine.diagnostics import masked
from infill_engine.diagnostics.masked import BEGIN, END, GROW, MASK, stock_network
from infill_engine.diagnostics.tiny import byte_level

torch.set_num_threads(1)  # tiny matrices: a second thread would only wait

BARE = Frame(mask=MASK, end=END, grow=GROW)
FRAME = Frame(mask=MASK, end=END, grow=GROW, begin=(BEGIN,), close=(END,))

Publish = Callable[[str, nn.Module], Path]


@lru_cache
def trained(stock: str, shift: int) -> nn.Module:
    """A network that has learnt the toy language."""
    network = stock_network(stock).requires_grad_(True)
    learn_to_fill(network, byte_level(["<a>", "<b>", "<c>", "<d>", "<e>"]), (FRAME, BARE), shift)
    return network


@pytest.fixture(scope="session")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Publish:
    """Writes a network as a family's checkpoint, in the family's own file layout."""
    return lambda name, network: masked.publish(name, network, tmp_path_factory.mktemp(name) / name)
