"""Products with the trunk's matrices: int8 on a CPU, half precision on a GPU, and which of them is the fastest here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.quantization.int8_kernels import KERNELS, Kernel, is_exact
from infill_engine.models.quantization.int8_linear import quantise
from infill_engine.models.runtime.devices import wanted_threads
from infill_engine.models.runtime.timing import quickest
from infill_engine.models.trunk.config import TrunkConfig

ROWS = 16  # of the pass that is measured: two candidates' worth
Product = Callable[[Tensor], Tensor]
MakeProduct = Callable[[Tensor, Tensor | None], Product]  # matrix [out, in] in float32, bias [out] or None


@dataclass(frozen=True, slots=True)
class Int8Product:
    """x [T, in] -> [T, out] in float32 by a matrix of int8."""

    kernel: Kernel
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        product = self.kernel.product(x)
        return product if self.bias is None else product.add_(self.bias)


def int8_products(kernel: type[Kernel]) -> MakeProduct:
    """Products by a kernel for int8."""
    return lambda matrix, bias: Int8Product(kernel(*quantise(matrix)), bias)


def float_products(device: str, dtype: torch.dtype) -> MakeProduct:
    """Products in a floating type."""

    def make(matrix: Tensor, bias: Tensor | None) -> Product:
        weight = matrix.to(device, dtype)
        return partial(F.linear, weight=weight, bias=None if bias is None else bias.to(device, dtype))

    return make


def fastest_kernel(config: TrunkConfig, kernels: Sequence[type[Kernel]] = KERNELS) -> type[Kernel] | None:
    """The int8 kernel that is fastest on this CPU, with torch set to the number of threads that is; None if none works.

    One layer's matrices are multiplied with ROWS rows, by all threads and by one. INFILL_THREADS overrides.
    """
    usable = [kernel for kernel in kernels if is_exact(kernel)]
    if not usable:
        return None
    most = torch.get_num_threads()
    counts = {most} if wanted_threads() else {1, most}
    layers = {kernel: _layer(config, kernel) for kernel in usable}
    inputs = [torch.ones(ROWS, config.dim), torch.ones(ROWS, config.hidden)]

    @torch.inference_mode()
    def run(threads: int, kernel: type[Kernel]) -> None:
        torch.set_num_threads(threads)
        for product in layers[kernel]:
            product(inputs[0] if product is not layers[kernel][-1] else inputs[1])

    ways = {(threads, kernel): partial(run, threads, kernel) for threads in counts for kernel in usable}
    threads, kernel = quickest(ways)
    torch.set_num_threads(threads)
    return kernel


def _layer(config: TrunkConfig, kernel: type[Kernel]) -> list[Product]:
    """Products of the shapes of one layer, with weights that mean nothing; the one of the MLP's inside comes last."""
    make = int8_products(kernel)
    shapes = (
        (config.query_size + 2 * config.kv_size, config.dim),
        (config.dim, config.query_size),
        (2 * config.hidden, config.dim),
        (config.dim, config.hidden),
    )
    return [make(torch.ones(shape), None) for shape in shapes]
