"""A layer's matrices with the adapter merged in and with smoothed inputs, in float32 and in a backend's own types."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.trunk.adapter import NAMES, Adapter
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.weights import Weights
from infill_engine.models.trunk.smoothing import Smoothing

Floats = NDArray[np.float32]
Vector = TypeVar("Vector")
Product = TypeVar("Product")  # multiplies rows [T, in] -> [T, out], and adds the bias if there is one


@dataclass(frozen=True, slots=True)
class MergedLayer:
    """One decoder layer in float32. `qkv` and `gate_up` are several matrices, stacked."""

    attention_norm: Floats  # [D]
    mlp_norm: Floats  # [D]
    qkv: Floats  # [query_size + 2 * kv_size, D]
    bias: Floats  # of `qkv`
    out: Floats  # [D, query_size]
    gate_up: Floats  # [2 * hidden, D]
    down: Floats  # [D, hidden]
    factors: Mapping[str, Floats]  # of the smoothed inputs: `attention` and `mlp` [D], `down` [hidden]


@dataclass(frozen=True)
class LayerOf(Generic[Vector, Product]):
    """One decoder layer. `qkv` yields queries, keys and values side by side, `gate_up` both halves of the MLP."""

    attention_norm: Vector  # [D]
    mlp_norm: Vector  # [D]
    qkv: Product  # D -> query_size + 2 * kv_size
    out: Product  # query_size -> D
    gate_up: Product  # D -> 2 * hidden
    down: Product  # hidden -> D

    @classmethod
    def of(
        cls,
        read: MergedLayer,
        vector: Callable[[Floats], Vector],
        product: Callable[[Floats, Floats | None], Product],
    ) -> "LayerOf[Vector, Product]":
        """Return a layer; `product` takes a matrix [out, in] and a bias."""
        biases = {"qkv": read.bias}
        products = (product(getattr(read, name), biases.get(name)) for name in NAMES)
        return cls(vector(read.attention_norm), vector(read.mlp_norm), *products)

    def with_terms(self, plus: Callable[[str, Product], Product]) -> "LayerOf[Vector, Product]":
        """Return the layer with low-rank terms beside its matrices; `plus` adds that of the matrix with a name."""
        qkv, out, gate_up, down = (plus(name, getattr(self, name)) for name in NAMES)
        return replace(self, qkv=qkv, out=out, gate_up=gate_up, down=down)


@dataclass(frozen=True, slots=True)
class MergedWeights:
    """A model's weights with what is merged into them. Raises ModelDamagedError."""

    weights: Weights
    adapter: Adapter = field(default_factory=Adapter)
    smoothing: Smoothing = field(default_factory=Smoothing)
    smooths: bool = True  # whether inputs are smoothed; their factors are known either way

    @property
    def config(self) -> TrunkConfig:
        """The sizes."""
        return self.weights.config

    def layer(self, number: int) -> MergedLayer:
        """Return a layer."""

        def matrix(name: str, *parts: str) -> Floats:
            joined = np.concatenate([self.weights.read_matrix(number, part) for part in parts])
            return self.adapter.merged(f"layers.{number}.{name}", joined)

        def smooth(name: str, of: Floats) -> Floats:
            factors = self.smoothing.factors(number, name, of)
            if self.smooths:
                of *= factors
            return factors

        qkv, out = matrix("qkv", "q", "k", "v"), matrix("out", "o")
        gate_up, down = matrix("gate_up", "gate", "up"), matrix("down", "down")
        bias = np.concatenate([self.weights.read_vector(f"layers.{number}.{part}.bias") for part in "qkv"])
        factors = {"attention": smooth("attention", qkv), "mlp": smooth("mlp", gate_up), "down": smooth("down", down)}
        attention, mlp = (self.weights.read_vector(f"layers.{number}.{name}_norm") for name in ("attention", "mlp"))
        if self.smooths:
            gate_up[self.config.hidden :] /= factors["down"][:, None]
            attention, mlp = attention / factors["attention"], mlp / factors["mlp"]
        return MergedLayer(attention, mlp, qkv, bias, out, gate_up, down, factors)
