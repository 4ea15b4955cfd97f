"""From the trunk's folder to a loaded model: its matrices with the adapter merged in, packed for this machine."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.runtime.devices import MLX, physical_cores, wanted_threads
from infill_engine.models.runtime.profile import profile_of
from infill_engine.models.runtime.threads import AdaptiveThreads
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.backends.interface import Backend
from infill_engine.models.trunk.backends.products import (
    FloatProducts,
    Int8Products,
    MakeProduct,
    Product,
    fastest_kernel,
)
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.network import Layer, Network
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.smoothing import Smoothing

Report = Callable[[str, float], None]  # the current task, and the share of it that is done


@torch.inference_mode()
def load_trunk(
    folder: Path, trained: Path, device: str, dtype: torch.dtype, report: Report, *, int8: bool = True
) -> TrunkModel:
    """Return the trunk in `folder` with the adapter in `trained`. Raises ModelDamagedError.

    On a CPU it computes in int8 unless `int8` is false, elsewhere in `dtype`.
    """
    with ThreadPoolExecutor(1) as beside:
        reading = beside.submit(TrunkVocabulary, folder / "tokenizer.json")
        weights = TrunkWeights(folder)
        vocabulary = reading.result()  # a damaged tokenizer is reported before the weights are converted
    return TrunkModel(_load_backend(weights, trained, device, dtype, report, int8=int8), vocabulary)


def _load_backend(
    weights: TrunkWeights, trained: Path, device: str, dtype: torch.dtype, report: Report, *, int8: bool
) -> Backend:
    if device == MLX:
        from infill_engine.models.trunk.backends.mlx_backend import MlxBackend

        return MlxBackend(weights, Adapter.load(trained), dtype)
    kernel = fastest_kernel(weights.config) if device == "cpu" and int8 else None
    make = Int8Products(kernel) if kernel else FloatProducts(device, dtype)
    precision = kernel.NAME if kernel else str(dtype).removeprefix("torch.")
    dtype = torch.float32 if kernel else dtype
    network = build_network(weights, Adapter.load(trained), make, device, dtype, report)
    threads = None
    if device == "cpu":
        threads = AdaptiveThreads.up_to(torch.get_num_threads(), fixed=wanted_threads() is not None)
    return TorchBackend(network, device, dtype, profile_of(precision), threads)


def build_network(
    weights: TrunkWeights,
    adapter: Adapter,
    make: MakeProduct,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    report: Report | None = None,
) -> Network:
    """Return the network of a trunk, with an adapter merged into its matrices and `make` providing the products."""
    smoothing = Smoothing.load(weights.folder)

    def norm(name: str) -> Tensor:
        return weights.read_vector(name).to(device, dtype)

    def layer(number: int) -> Layer:
        return _layer(weights, adapter, smoothing, make, norm, number)

    layers: list[Layer] = []
    threads = torch.get_num_threads()
    # Each worker uses one thread: torch's threads would compete for the same cores.
    with ThreadPoolExecutor(physical_cores(), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        embedding = pool.submit(_embedding, weights, make)
        for made in pool.map(layer, range(weights.config.layers)):
            layers.append(made)
            if report is not None:
                report("loading the model", 0.1 + 0.8 * len(layers) / weights.config.layers)
        codes, scales, head = embedding.result()
    torch.set_num_threads(threads)
    codes, scales = codes.to(device), scales.to(device)

    def embed(ids: Tensor) -> Tensor:
        return (codes[ids].float() * scales[ids, None]).to(dtype)

    return Network(weights.config, layers, norm("norm"), embed, head)


@torch.inference_mode()
def _embedding(weights: TrunkWeights, make: MakeProduct) -> tuple[Tensor, Tensor, Product]:
    """int8 codes [V, dim] and scales [V] of the embedding, and the product with it."""
    codes, scales = weights.embedding()
    return codes, scales, make.of_rows(codes, scales)


@torch.inference_mode()
def _layer(
    weights: TrunkWeights,
    adapter: Adapter,
    smoothing: Smoothing,
    make: MakeProduct,
    norm: Callable[[str], Tensor],
    number: int,
) -> Layer:
    """Return a layer with smoothed inputs of its products."""

    def matrix(name: str, *parts: str) -> Tensor:
        joined = torch.cat([weights.read_matrix(number, part) for part in parts])
        return adapter.merged(f"layers.{number}.{name}", joined)

    def spread(name: str, of: Tensor) -> Tensor:
        factors = smoothing.factors(number, name, of)
        of *= factors
        return factors

    qkv, out = matrix("qkv", "q", "k", "v"), matrix("out", "o")
    gate_up, down = matrix("gate_up", "gate", "up"), matrix("down", "down")
    bias = torch.cat([weights.read_vector(f"layers.{number}.{part}.bias") for part in "qkv"])
    attention, mlp, inside = spread("attention", qkv), spread("mlp", gate_up), spread("down", down)
    gate_up[len(inside) :] /= inside[:, None]
    attention_norm, mlp_norm = norm(f"layers.{number}.attention_norm"), norm(f"layers.{number}.mlp_norm")
    return Layer(
        attention_norm / attention.to(attention_norm),
        mlp_norm / mlp.to(mlp_norm),
        make.of(qkv, bias),
        make.of(out),
        make.of(gate_up),
        make.of(down),
    )
