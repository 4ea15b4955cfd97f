"""Where a model computes, as a user names it: torch's `cpu`, `cuda` and `mps`, and `mlx`, which is Apple's library."""

import platform
import sys

MLX = "mlx"


def torch_device(device: str) -> str:
    """Where torch finds what a family on this device hands over."""
    return "cpu" if device == MLX else device


def on_apple_silicon() -> bool:
    return sys.platform == "darwin" and platform.machine() == "arm64"
