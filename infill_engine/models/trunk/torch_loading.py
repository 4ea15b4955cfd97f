"""Loads the trunk, or another model of its architecture, for torch."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from infill_engine.models.runtime.devices import physical_cores
from infill_engine.models.runtime.precision import dtype_of
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.backends.products import (
    ROWS,
    FloatProducts,
    Int8Products,
    Product,
    fastest_kernel,
)
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.backends.torch_blocks import TorchBlocks
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.merged import Floats, MergedWeights
from infill_engine.models.trunk.network import Layer, Network
from infill_engine.models.trunk.prepared import Prepared
from infill_engine.settings import ModelSettings

Report = Callable[[str, float], None]  # the current task, and the share of it that is done


@torch.inference_mode()
def load_backend(
    merged: MergedWeights, denoiser: Denoiser | None, device: str, settings: ModelSettings, report: Report
) -> Backend:
    """Return a model in a floating-point type.

    Raises ModelDamagedError, or InputError for an unknown precision.
    """
    dtype = dtype_of(settings, device)
    network, blocks = build_network(merged, device, dtype, report), None
    if denoiser is not None:
        head = merged.weights.embedding() if merged.config.tied else merged.weights.head()
        blocks = TorchBlocks.of(denoiser, network, head, FloatProducts(device, dtype).of_rows)
    return TorchBackend(network, device, dtype, _profile_of(str(dtype).removeprefix("torch.")), blocks)


@torch.inference_mode()
def int8_backend(prepared: Prepared, note: str, denoiser: Denoiser | None = None, rows: int = ROWS) -> TorchBackend:
    """Return the trunk on a CPU with the int8 kernel that is fastest for `rows` rows; in float32 if none works.

    `note` is added to its profile.
    """
    kernel, arrays = fastest_kernel(prepared.config, rows), prepared.arrays
    make = Int8Products(kernel) if kernel is not None else FloatProducts("cpu", torch.float32)

    def vector(name: str) -> Tensor:
        return torch.from_numpy(arrays[name])

    def product(name: str, bias: Tensor | None = None) -> Product:
        scales = arrays[f"{name}.scales"][:, 0].astype(np.float32)
        return make.of_rows(arrays[f"{name}.codes"], scales, bias)

    layers = [
        Layer(
            vector(f"layers.{number}.attention_norm"),
            vector(f"layers.{number}.mlp_norm"),
            product(f"layers.{number}.qkv", vector(f"layers.{number}.bias")),
            product(f"layers.{number}.out"),
            product(f"layers.{number}.gate_up"),
            product(f"layers.{number}.down"),
        )
        for number in range(prepared.config.layers)
    ]
    codes = torch.from_numpy(arrays["embedding.codes"])
    scales = torch.from_numpy(arrays["embedding.scales"].astype(np.float32))
    head = "embedding" if prepared.config.tied else "head"
    network = Network(
        prepared.config, layers, vector("norm"), lambda ids: codes[ids].float() * scales[ids], product(head)
    )
    blocks = None
    if denoiser is not None:
        of_head = arrays[f"{head}.codes"], arrays[f"{head}.scales"][:, 0].astype(np.float32)
        blocks = TorchBlocks.of(denoiser, network, of_head, make.of_rows)
    profile = f"{_profile_of('float32' if kernel is None else kernel.NAME)}; {note}"
    return TorchBackend(network, profile=profile, blocks=blocks)


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

    def layer(number: int) -> Layer:
        read = merged.layer(number)
        return Layer(
            tensor(read.attention_norm),
            tensor(read.mlp_norm),
            make.of(torch.from_numpy(read.qkv), torch.from_numpy(read.bias)),
            make.of(torch.from_numpy(read.out)),
            make.of(torch.from_numpy(read.gate_up)),
            make.of(torch.from_numpy(read.down)),
        )

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


def _profile_of(precision: str) -> str:
    """Describe a precision and torch's current number of threads, such as `int8, 1 thread`."""
    threads = torch.get_num_threads()
    return f"{precision}, {threads} thread" + "s" * (threads > 1)
