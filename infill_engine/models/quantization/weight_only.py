"""Weights stored in one byte or half a byte each, for models that would not fit otherwise. Activations are unchanged.

    int8    one scale for a row, symmetric                              1.0 bytes a weight
    int4    a scale and a lowest value for every 64 weights of a row    0.56 bytes a weight

Only the matrices of linear layers are packed. Embeddings, norms and weights shared with an embedding keep the precision
of the computation. On a CPU, torch's own kernels multiply with the packed weights; elsewhere a matrix is unpacked for
each use.

This needs no calibration and no library: in torchao 0.18 only the int8 half works on a CPU.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

INT8, INT4 = "int8", "int4"
GROUPS = (64, 32)  # weights of a row that share a scale; the larger one if it divides the row
# Up to this many activations at once, torch's int8 kernel, which reads bfloat16, is faster than unpacking first.
KERNEL_ROWS = {torch.bfloat16: 64, torch.float32: 16}
KEPT = ("embed", "wte", "rotary")  # parts of names that are not quantised


@dataclass(frozen=True, slots=True)
class PackedMatrix:
    """A matrix [N, K] in few bits.

    `codes` are int8 with `scale` [N, 1], or pairs of four bits [N, K / 2] with `scale` and `least` [N, K / group, 1].
    """

    codes: Tensor
    scale: Tensor
    least: Tensor | None = None

    @property
    def dtype(self) -> torch.dtype:
        return self.scale.dtype

    def unpack(self) -> Tensor:
        if self.least is None:
            return self.codes.to(self.dtype) * self.scale
        groups = _halves(self.codes).unflatten(-1, (self.scale.shape[-2], -1)).to(self.dtype)
        return torch.addcmul(self.least, groups, self.scale).flatten(-2)


class PackedLinear(nn.Module):
    """`nn.Linear` over a packed matrix, stored in one layout only: that of torch's kernel if it supports the matrix."""

    def __init__(self, packed: PackedMatrix, bias: Tensor | None) -> None:
        super().__init__()
        self.in_features, self.out_features = _columns(packed), packed.codes.shape[0]
        self.bias = bias
        self._kernel_group = _columns(packed) // packed.scale.shape[-2] if _has_kernel(packed) else 0
        codes, scale, least = _for_kernel(packed) if self._kernel_group else (packed.codes, packed.scale, packed.least)
        for name, value in (("codes", codes), ("scale", scale), ("least", least)):
            self.register_buffer(name, value, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        out = self._multiply(x.reshape(-1, self.in_features))
        if self.bias is not None:
            out = out + self.bias
        return out.view(*x.shape[:-1], self.out_features)

    def _multiply(self, x: Tensor) -> Tensor:
        """[M, K] by the matrix [N, K] -> [M, N]."""
        codes, scale = self.get_buffer("codes"), self.get_buffer("scale")
        if self._kernel_group:
            multiply = torch.ops.aten._weight_int4pack_mm_for_cpu
            product: Tensor = multiply(x.bfloat16(), codes, self._kernel_group, scale).to(x.dtype)
        elif self.least is not None:
            product = F.linear(x, PackedMatrix(codes, scale, self.get_buffer("least")).unpack())
        elif x.device.type == "cpu" and len(x) <= KERNEL_ROWS.get(x.dtype, 0):
            product = torch.ops.aten._weight_int8pack_mm(x.bfloat16(), codes, scale.flatten().bfloat16()).to(x.dtype)
        elif x.dtype == torch.float16:  # a sum of products with unscaled codes may overflow
            product = F.linear(x, PackedMatrix(codes, scale).unpack())
        else:
            product = F.linear(x, codes.to(x.dtype)) * scale.flatten()
        return product


def pack(weights: Tensor, stored: str) -> PackedMatrix:
    """Pack weights [N, K], given in the precision of the computation, as `stored` says."""
    exact = weights.float()
    if stored == INT8:
        scale = exact.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
        return PackedMatrix((exact / scale).round().to(torch.int8), scale.to(weights.dtype))
    groups = exact.unflatten(-1, (-1, _group(weights.shape[-1])))
    least, most = groups.amin(-1, keepdim=True).to(weights.dtype), groups.amax(-1, keepdim=True)
    scale = ((most - least) / 15).clamp(min=1e-6).to(weights.dtype)
    codes = ((groups - least) / scale).round().clamp(0, 15).to(torch.uint8).flatten(-2)
    return PackedMatrix(codes[..., 0::2] | (codes[..., 1::2] << 4), scale, least)


def is_packed(name: str, shape: tuple[int, ...]) -> bool:
    """Return whether a checkpoint's tensor is packed, judged by its name and shape."""
    return len(shape) == 2 and shape[1] % GROUPS[-1] == 0 and not any(kept in name.lower() for kept in KEPT)


def bytes_of(tensors: Mapping[str, tuple[int, ...]], width: int, stored: str = "") -> int:
    """Return bytes of a checkpoint's tensors in memory: `width` for each number, or packed as `stored` says."""
    return sum(_bytes(name, shape, width, stored) for name, shape in tensors.items())


def replace_parameter(network: nn.Module, name: str, packed: PackedMatrix) -> None:
    """Replace the linear layer with the weights `name` by one over packed weights."""
    layer = name.rpartition(".")[0]
    parent, _, place = layer.rpartition(".")
    bias = network.get_submodule(layer).bias
    assert bias is None or isinstance(bias, Tensor)
    network.get_submodule(parent)._modules[place] = PackedLinear(packed, bias)


def takes_packed(network: nn.Module, name: str) -> bool:
    """Return whether the parameter `name` is the matrix of a linear layer."""
    layer, _, own = name.rpartition(".")
    return own == "weight" and isinstance(network.get_submodule(layer), nn.Linear)


def _bytes(name: str, shape: tuple[int, ...], width: int, stored: str) -> int:
    numbers = math.prod(shape)
    if not stored or not is_packed(name, shape):
        return numbers * width
    rows = numbers // shape[-1]
    return numbers + rows * width if stored == INT8 else numbers // 2 + 2 * width * (numbers // _group(shape[-1]))


def _group(columns: int) -> int:
    return next(group for group in GROUPS if columns % group == 0)


def _columns(packed: PackedMatrix) -> int:
    return packed.codes.shape[-1] * (1 if packed.least is None else 2)


def _has_kernel(packed: PackedMatrix) -> bool:
    """Return whether torch's int4 kernel for CPUs supports a matrix: it requires whole blocks of rows."""
    on_cpu = packed.codes.device.type == "cpu" and packed.dtype in KERNEL_ROWS
    return packed.least is not None and on_cpu and packed.codes.shape[0] % 16 == 0


def _for_kernel(packed: PackedMatrix) -> tuple[Tensor, Tensor, None]:
    """Return codes and scales in the kernel's layout, whose offsets refer to the middle of a group."""
    assert packed.least is not None
    codes = torch.ops.aten._convert_weight_to_int4pack_for_cpu(_halves(packed.codes).int(), 1)
    scales = torch.cat((packed.scale, packed.least + 8 * packed.scale), -1)
    return codes, scales.transpose(0, 1).bfloat16().contiguous(), None


def _halves(codes: Tensor) -> Tensor:
    """Return the two four-bit numbers in each of the bytes [..., K / 2], as [..., K]."""
    return torch.stack((codes & 15, codes >> 4), -1).flatten(-2)
