"""The trunk in int8 in torch on a CPU, which reads contexts faster than floats, in the precision that is served."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from infill_engine.models.runtime.precision import quickest
from infill_engine.models.trunk.backends.torch_products import Product
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.network import Layer, Network
from infill_engine.models.trunk.prepared import Prepared
from train.denoiser.int8_kernels import KERNELS, Kernel, is_exact


@dataclass(frozen=True, slots=True)
class Int8Product:
    """x [T, in] -> [T, out] in float32, with an int8 matrix."""

    kernel: Kernel
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        product = self.kernel.product(x)
        return product if self.bias is None else product.add_(self.bias)


@torch.inference_mode()
def int8_network(prepared: Prepared, rows: int) -> Network | None:
    """Return the trunk with the int8 kernel that is fastest for `rows` rows; None if none works here."""
    kernel, arrays = fastest_kernel(prepared.config, rows), prepared.arrays
    if kernel is None:
        return None

    def vector(name: str) -> Tensor:
        return torch.from_numpy(arrays[name])

    def product(name: str, bias: Tensor | None = None) -> Product:
        scales = torch.from_numpy(arrays[f"{name}.scales"][:, 0].astype(np.float32))
        return Int8Product(kernel(torch.from_numpy(arrays[f"{name}.codes"]), scales), bias)

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
    head = product("embedding" if prepared.config.tied else "head")
    return Network(prepared.config, layers, vector("norm"), lambda ids: codes[ids].float() * scales[ids], head)


def fastest_kernel(config: TrunkConfig, rows: int, kernels: Sequence[type[Kernel]] = KERNELS) -> type[Kernel] | None:
    """Return the int8 kernel that multiplies `rows` rows with a large matrix fastest here; None if none works."""
    shape = (2 * config.hidden, config.dim)
    usable = [kernel for kernel in kernels if is_exact(kernel)]
    matrices = {kernel: kernel(torch.ones(shape, dtype=torch.int8), torch.ones(shape[0])) for kernel in usable}
    x = torch.ones(rows, config.dim)
    return quickest({kernel: partial(matrix.product, x) for kernel, matrix in matrices.items()}) if usable else None
