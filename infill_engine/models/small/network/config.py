"""The architecture of the small model's network, as stored in its config.json."""

from dataclasses import asdict, dataclass, fields
from typing import Any

from infill_engine.errors import ModelDamagedError


@dataclass(frozen=True, slots=True)
class DualEncoderConfig:
    """A network's dimensions, stored as config.json next to its weights."""

    vocab: int = 8192
    dim: int = 384
    heads: int = 6
    hidden: int = 1024
    encoder_layers: int = 6
    decoder_layers: int = 3
    ngram_slots: int = 8192  # rows of each hashed n-gram table
    kinds: int = 4  # of holes
    model_type: str = "duostream"

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> "DualEncoderConfig":
        """Parse config.json. Raises ModelDamagedError for unknown or ill-typed fields."""
        known = {field.name: field.type for field in fields(cls)}
        unknown = raw.keys() - known.keys()
        if unknown or any(not isinstance(raw[name], str if name == "model_type" else int) for name in raw):
            wrong = ", ".join(sorted(unknown)) or "a field of the wrong type"
            raise ModelDamagedError(f"config.json does not describe a duostream model: {wrong}")
        config = cls(**raw)
        sizes = [value for value in asdict(config).values() if isinstance(value, int)]
        if min(sizes) < 1 or config.dim % (2 * config.heads):
            raise ModelDamagedError("config.json does not describe a duostream model: its sizes make no network")
        return config

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
