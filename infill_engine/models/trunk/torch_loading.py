"""Loads the trunk, or another model of its architecture, for torch."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from infill_engine.models.runtime.devices import physical_cores
from infill_engine.models.runtime.precision import dtype_of
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.backends.torch_blocks import TorchBlocks
from infill_engine.models.trunk.backends.torch_products import FloatProducts, Product
from infill_engine.models.trunk.edit_adapter import EditAdapter
from infill_engine.models.trunk.merged import Floats, MergedWeights
from infill_engine.models.trunk.network import Layer, Network
from infill_engine.models.trunk.sources import Parts
from infill_engine.process import Report
from infill_engine.settings import ModelSettings


@torch.inference_mode()
def load_backend(parts: Parts, device: str, settings: ModelSettings, report: Report, note: str = "") -> Backend:
    """Return a model in a floating-point type; `note` is added to its profile.

    Raises ModelDamagedError, or InputError for an unknown precision.
    """
    dtype, merged = dtype_of(settings, device), parts.source.open()
    make = FloatProducts(device, dtype)
    network, blocks = build_network(merged, device, dtype, report), None
    adapted = None if parts.edit_adapter is None else with_terms(network, parts.edit_adapter, make)
    if parts.denoiser is not None:
        head = merged.weights.embedding() if merged.config.tied else merged.weights.head()
        blocks = TorchBlocks.of(parts.denoiser, network, head, make.of_rows)
    threads = torch.get_num_threads()
    profile = f"{str(dtype).removeprefix('torch.')}, {threads} thread" + "s" * (threads > 1)
    return TorchBackend(network, device, dtype, f"{profile}; {note}" if note else profile, blocks, adapted)


def build_network(
    merged: MergedWeights,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    report: Report | None = None,
) -> Network:
    """Return the network of a model."""
    make, config, weights = FloatProducts(device, dtype), merged.config, merged.weights

    def tensor(array: Floats) -> Tensor:
        return torch.from_numpy(array).to(device, dtype)

    def product(matrix: Floats, bias: Floats | None) -> Product:
        return make.of(torch.from_numpy(matrix), None if bias is None else torch.from_numpy(bias))

    def layer(number: int) -> Layer:
        return Layer.of(merged.layer(number), tensor, product)

    layers: list[Layer] = []
    with ThreadPoolExecutor(physical_cores()) as pool:
        for made in pool.map(layer, range(config.layers)):
            layers.append(made)
            if report is not None:
                report("loading the model", 0.1 + 0.8 * len(layers) / config.layers)
    codes, scales = weights.embedding()
    head = make.of_rows(codes, scales) if config.tied else make.of_rows(*weights.head())
    kept, steps = torch.from_numpy(codes).to(device), torch.from_numpy(scales).to(device)

    def embed(ids: Tensor) -> Tensor:
        return (kept[ids].float() * steps[ids, None]).to(dtype)

    return Network(config, layers, tensor(weights.read_vector("norm")), embed, head)


def with_terms(network: Network, edit_adapter: EditAdapter, make: FloatProducts) -> Network:
    """Return a network of the same matrices with low-rank terms beside them."""

    def plus(number: int, name: str, product: Product) -> Product:
        return make.plus(product, edit_adapter.term(number, name))

    layers = [layer.with_terms(partial(plus, number)) for number, layer in enumerate(network.layers)]
    return replace(network, layers=layers)
