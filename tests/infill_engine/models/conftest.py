"""Checkpoints of the published families in miniature: some random, some that have learnt the toy language."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest
import torch
from torch import nn
from toy import Frame, learn_to_fill

from bench.families import masked
from bench.families.masked import BEGIN, END, GROW, MASK, PUBLISHED, stock_network
from bench.families.tiny import byte_level
from infill_engine.models.base import CanvasModel
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.settings import ModelSettings

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


@pytest.fixture(scope="session")
def masked_families(publish: Publish) -> Callable[[str], tuple[CanvasModel, nn.Module]]:
    """A random family, loaded from its files, and the network that was written there."""
    made: dict[str, tuple[CanvasModel, nn.Module]] = {}

    def family(name: str) -> tuple[CanvasModel, nn.Module]:
        if name not in made:
            network = stock_network(PUBLISHED[name].stock)
            made[name] = load_canvas_model(str(publish(name, network)), "cpu", ModelSettings(dtype="fp32")), network
        return made[name]

    return family


@pytest.fixture(scope="session")
def synthetic_masked(publish: Publish) -> Callable[[str], Path]:
    """The folder of a family that has learnt the toy language."""
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = publish(name, trained(PUBLISHED[name].stock, PUBLISHED[name].shift))
        return made[name]

    return folder
