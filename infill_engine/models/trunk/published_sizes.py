"""The published sizes of Qwen2.5-Coder, and what to expect of them here."""

from dataclasses import dataclass

from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.trunk_loading import memory_needed

SIZES = {
    "Qwen2.5-Coder-0.5B": TrunkConfig(151_936),
    "Qwen2.5-Coder-1.5B": TrunkConfig(151_936, 28, 1536, 12, 2, 128, 8960),
    "Qwen2.5-Coder-3B": TrunkConfig(151_936, 36, 2048, 16, 2, 128, 11_008),
    "Qwen2.5-Coder-7B": TrunkConfig(152_064, 28, 3584, 28, 4, 128, 18_944, tied=False),
}
ROWS = 8  # of a usual pass
BESIDE = 0.4  # share of the default model's pass that grows with the layers; the rest grows with the weights


@dataclass(frozen=True, slots=True)
class Expected:
    """What a model would take here in int8: bytes of memory, bytes of disk, and milliseconds for a pass of ROWS rows.

    `pass_ms` is 0 if nothing is known.
    """

    name: str
    memory: int
    disk: int
    pass_ms: float


def expected(own: TrunkConfig, own_pass_ms: float) -> list[Expected]:
    """Return what to expect if a pass of the model `own` takes `own_pass_ms`."""

    def pass_ms(config: TrunkConfig) -> float:
        layers, weights = config.layers / own.layers, config.parameters / own.parameters
        return own_pass_ms * (BESIDE * layers + (1 - BESIDE) * weights)

    return [Expected(name, memory_needed(each), each.parameters, pass_ms(each)) for name, each in SIZES.items()]
