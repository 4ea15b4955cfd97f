"""A layer's matrices as the backends use them: with the adapter merged in, and with smoothed inputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.weights import Weights
from infill_engine.models.trunk.smoothing import Smoothing

Floats = NDArray[np.float32]


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
