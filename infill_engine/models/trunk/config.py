"""The dimensions of the trunk, a Qwen2 decoder, read from its config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infill_engine.errors import ModelDamagedError


@dataclass(frozen=True, slots=True)
class TrunkConfig:
    """Sizes of a Qwen2 decoder. The defaults are those of 0.5 B. If `tied`, the embedding is also the head."""

    vocabulary: int
    layers: int = 24
    dim: int = 896
    heads: int = 14
    kv_heads: int = 2
    head_dim: int = 64
    hidden: int = 4864
    rope_theta: float = 1e6
    norm_epsilon: float = 1e-6
    tied: bool = True

    @property
    def query_size(self) -> int:
        """Total width of a token's queries."""
        return self.heads * self.head_dim

    @property
    def kv_size(self) -> int:
        """Total width of a token's keys, or of its values."""
        return self.kv_heads * self.head_dim

    @property
    def parameters(self) -> int:
        """The number of weights in all matrices."""
        attention = 2 * self.dim * (self.query_size + self.kv_size)
        return self.layers * (attention + 3 * self.dim * self.hidden) + (2 - self.tied) * self.vocabulary * self.dim

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """The shape of each matrix of a layer, (out, in)."""
        return {
            "q": (self.query_size, self.dim),
            "k": (self.kv_size, self.dim),
            "v": (self.kv_size, self.dim),
            "o": (self.dim, self.query_size),
            "gate": (self.hidden, self.dim),
            "up": (self.hidden, self.dim),
            "down": (self.dim, self.hidden),
        }

    @property
    def joined_shapes(self) -> dict[str, tuple[int, int]]:
        """The shape of each matrix of a layer as it is computed with, several of them stacked, (out, in)."""
        return {
            "qkv": (self.query_size + 2 * self.kv_size, self.dim),
            "out": (self.dim, self.query_size),
            "gate_up": (2 * self.hidden, self.dim),
            "down": (self.dim, self.hidden),
        }

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> "TrunkConfig":
        """Read the fields of the trunk's own config.json. Raises ModelDamagedError if one is missing."""
        try:
            return cls(**{name: config[name] for name in cls.__dataclass_fields__ if name != "tied"})
        except KeyError as error:
            raise ModelDamagedError(
                f"The default model's config.json has no {error}. Run `infill-ls models get` to rebuild it."
            ) from error
