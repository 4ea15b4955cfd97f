"""The trained part that lets the trunk propose several tokens at once, stored in a small file beside its adapter.

Mask rows go through the trunk together with the rows of real tokens, after one of them, the anchor. Row k predicts the
token k + 1 places after the anchor. Only mask rows use the low-rank terms (LoRA, arXiv 2106.09685), so they do not
change what real rows compute. A small head then chooses the tokens one after another: it shifts the state of a mask row
according to the token placed before it.

    up, down         of each matrix, int8 with a float32 scale for each row, as in the adapter
    masks            the initial embedding of a mask row, one for each place in a block
    from_token       of the head: the embedding of the token before -> RANK
    from_state       of the head: the state of the mask row -> RANK
    to_state         of the head: RANK -> what is added to the state
    survival         for each place, how often its token is the trunk's own choice, given that those before it were
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from infill_engine.errors import ModelDamagedError
from infill_engine.models.quantization.int8_linear import dequantise, quantise
from infill_engine.models.trunk.config import TrunkConfig

DENOISER = "denoiser.safetensors"
BLOCK = 4  # maximum number of mask rows after an anchor
HEAD = ("from_token", "from_state", "to_state")
REMEDY = "Install infill-ls again, or remove the file to decode without it."


@dataclass(frozen=True, slots=True)
class Head:
    """Chooses a token given the one before it. Matrices are [RANK, D], [RANK, D] and [D, RANK]."""

    from_token: Tensor
    from_state: Tensor
    to_state: Tensor

    def moved(self, states: Tensor, before: Tensor) -> Tensor:
        """Normed states [N, D] of mask rows, shifted for the preceding tokens' embeddings `before` [N, D]."""
        suggested = F.linear(unit(before), self.from_token) + F.linear(unit(states), self.from_state)
        return states + F.linear(F.silu(suggested), self.to_state)


@dataclass(frozen=True, slots=True)
class MaskProposals:
    """The predictions of a pass's mask rows, and the head that chooses from them. M mask rows, K tokens each.

    `tokens` [M, K] are the likeliest according to the mask rows alone, `logprobs` [M, K] their log-probabilities. The
    head adds `suggested` [M, RANK] from the mask rows' states, `by_token` from the token before, and `moves`
    [M, K, RANK], which map these to changes of the log-probabilities.
    """

    anchors: Sequence[int]
    places: Sequence[int]
    tokens: NDArray[np.int64]
    logprobs: NDArray[np.float32]
    suggested: NDArray[np.float32]
    moves: NDArray[np.float32]
    by_token: Callable[[int], NDArray[np.float32]]

    def behind(self, anchor: int) -> list[int]:
        """The mask rows of an anchor's block, in order."""
        return [row for row, owner in enumerate(self.anchors) if owner == anchor]

    def choose(self, row: int, before: int) -> tuple[int, float]:
        """The token that a mask row proposes after the token `before`, and its log-probability."""
        inner = self.suggested[row] + self.by_token(before)
        moved = self.logprobs[row] + self.moves[row] @ (inner / (1 + np.exp(-inner)))
        best = int(moved.argmax())
        total = np.logaddexp.reduce(moved) - np.logaddexp.reduce(self.logprobs[row])
        return int(self.tokens[row, best]), float(min(moved[best] - total, 0.0))


@dataclass(frozen=True, slots=True)
class Denoiser:
    """The file's contents. `terms` are `up` [out, rank] and `down` [rank, in] by matrix, such as `layers.3.qkv`."""

    terms: Mapping[str, tuple[Tensor, Tensor]]
    masks: Tensor  # [BLOCK, D]
    head: Head
    survival: tuple[float, ...]

    def to(self, device: str, dtype: torch.dtype) -> "Denoiser":
        """A copy with masks and head on a device and without terms, which belong to the layers."""
        head = Head(*(getattr(self.head, name).to(device, dtype) for name in HEAD))
        return Denoiser({}, self.masks.to(device, dtype), head, self.survival)

    def save(self, folder: Path) -> None:
        """Writes the file."""
        stored = {"masks": self.masks.float().contiguous(), "survival": torch.tensor(self.survival)}
        matrices = {f"head.{name}": getattr(self.head, name) for name in HEAD}
        for name, pair in self.terms.items():
            matrices |= {f"{name}.{side}": matrix for side, matrix in zip(("up", "down"), pair, strict=True)}
        for name, matrix in matrices.items():
            stored[f"{name}.levels"], stored[f"{name}.scale"] = quantise(matrix.float())
        save_file(stored, folder / DENOISER)


def load_denoiser(folder: Path, config: TrunkConfig) -> Denoiser | None:
    """The denoiser in a folder, or None if there is no file. Raises ModelDamagedError if it does not fit the trunk."""
    path = folder / DENOISER
    if not path.is_file():
        return None
    try:
        stored = load_file(path)
        read = {
            name.removesuffix(".levels"): dequantise(tensor, stored[name.removesuffix("levels") + "scale"])
            for name, tensor in stored.items()
            if name.endswith(".levels")
        }
        head = Head(*(read[f"head.{name}"] for name in HEAD))
        terms = {name: (read[f"{name}.up"], read[f"{name}.down"]) for name in matrix_shapes(config)}
        denoiser = Denoiser(terms, stored["masks"], head, tuple(stored["survival"].tolist()))
    except (SafetensorError, KeyError, OSError, RuntimeError) as error:
        raise ModelDamagedError(f"{path} cannot be read ({type(error).__name__}). {REMEDY}") from error
    _require_fit(denoiser, config, path)
    return denoiser


def matrix_shapes(config: TrunkConfig) -> dict[str, tuple[int, int]]:
    """The shapes (out, in) of the trunk's matrices as they are multiplied, by name."""
    shapes = {
        "qkv": (config.query_size + 2 * config.kv_size, config.dim),
        "out": (config.dim, config.query_size),
        "gate_up": (2 * config.hidden, config.dim),
        "down": (config.dim, config.hidden),
    }
    return {f"layers.{layer}.{name}": shape for layer in range(config.layers) for name, shape in shapes.items()}


def unit(x: Tensor) -> Tensor:
    """States or embeddings [..., D] normalised to the same length, as the head expects."""
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


def _require_fit(denoiser: Denoiser, config: TrunkConfig, path: Path) -> None:
    found = {name: (up.shape[0], down.shape[1]) for name, (up, down) in denoiser.terms.items()}
    head = denoiser.head
    widths = {denoiser.masks.shape[-1], head.from_token.shape[1], head.from_state.shape[1], head.to_state.shape[0]}
    if found != matrix_shapes(config) or widths != {config.dim} or len(denoiser.survival) != len(denoiser.masks):
        raise ModelDamagedError(f"{path} does not fit the trunk. {REMEDY}")
