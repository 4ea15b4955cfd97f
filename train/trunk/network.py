"""The trunk for training: frozen, with a trainable low-rank term for every matrix."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from infill_engine.errors import TrainingError
from infill_engine.models.trunk.adapter import Adapter, Pair
from infill_engine.models.trunk.backends.torch_products import FloatProducts
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.network import KeysValues, Layer, Network, forward, normed
from train.trunk.attention import attend_in_groups, attend_to_prefix
from train.trunk.data import Laid, Window, lay_out
from train.trunk.frozen import FrozenLinear

PARTS = {"qkv": ("q", "k", "v"), "out": ("o",), "gate_up": ("gate", "up"), "down": ("down",)}


@dataclass(frozen=True, slots=True)
class Scored:
    """The network's scores of a window's learned tokens, all [N]: losses in nats, and whether it would choose them."""

    losses: Tensor
    right: Tensor
    kinds: list[str]


class TrainedTrunk:
    """The network and its trainable matrices by name. Everything but these is computed in `dtype`."""

    def __init__(self, weights: TrunkWeights, dtype: torch.dtype, rank: int) -> None:
        self.linears: dict[str, FrozenLinear] = {}
        self._dtype = dtype
        layers = [self._layer(weights, number, rank) for number in range(weights.config.layers)]
        codes, scales = map(torch.from_numpy, weights.embedding())
        head = codes.float().mul_(scales[:, None]).to(self._dtype)
        norm = torch.from_numpy(weights.read_vector("norm")).to(self._dtype)
        self.network = Network(weights.config, layers, norm, lambda ids: head[ids], lambda x: F.linear(x, head))

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Return the trained matrices: `….down` and `….up` of each linear."""
        named = ((name, linear) for name, linear in self.linears.items())
        return {f"{name}.{side}": getattr(linear, side) for name, linear in named for side in ("down", "up")}

    def adapter(self, rank: int) -> Adapter:
        """Return the trained adapter for merging at load time, in the best approximation of that rank."""
        return Adapter({name: _of_rank(linear, rank) for name, linear in self.linears.items()})

    @torch.no_grad()
    def start_from(self, adapter: Adapter) -> None:
        """Set the low-rank terms to those of an adapter; its rank must not be above theirs. Raises TrainingError."""
        for name, linear in self.linears.items():
            pair = adapter.pair(name)
            if pair is None:
                continue
            up, down = map(torch.from_numpy, pair)
            if up.shape[0] != linear.up.shape[0] or down.shape[0] > len(linear.down):
                raise TrainingError(f"the adapter's {name} has rank {len(down)} and does not fit a run of this rank")
            linear.up[:, : len(down)] = up / linear.scale
            linear.down[: len(down)] = down

    def score(self, window: Window, *, learning: bool) -> Scored:
        """Score the learned tokens of a window. With `learning`, the losses have gradients; the context never does."""
        laid = lay_out(window)
        with torch.no_grad():
            read = read_context(self.network, laid)
        with torch.set_grad_enabled(learning):
            states = learned_states(self.network, laid, read)
            logits = self.network.logits(normed(self.network, states)).float()
            losses = F.cross_entropy(logits, laid.targets, reduction="none")
        return Scored(losses, logits.argmax(-1) == laid.targets, laid.kinds)

    def _layer(self, weights: TrunkWeights, number: int, rank: int) -> Layer:
        linears = {}
        for name, parts in PARTS.items():
            matrix = torch.from_numpy(np.concatenate([weights.read_matrix(number, part) for part in parts]))
            biases = [weights.read_vector(f"layers.{number}.{part}.bias") for part in parts] if name == "qkv" else []
            bias = torch.from_numpy(np.concatenate(biases)) if biases else None
            frozen = FloatProducts("cpu", self._dtype).of(matrix, bias)
            linears[name] = FrozenLinear(frozen, (matrix.shape[0], matrix.shape[1]), rank)
            self.linears[f"layers.{number}.{name}"] = linears[name]
        before_attention, before_mlp = (
            torch.from_numpy(weights.read_vector(f"layers.{number}.{part}_norm")).to(self._dtype)
            for part in ("attention", "mlp")
        )
        return Layer(before_attention, before_mlp, linears["qkv"], linears["out"], linears["gate_up"], linears["down"])


@torch.no_grad()
def _of_rank(linear: FrozenLinear, rank: int) -> Pair:
    """Return the low-rank term as `up` [out, rank] and `down` [rank, in], from a singular value decomposition."""
    up_basis, up = torch.linalg.qr(linear.up * linear.scale)
    down_basis, down = torch.linalg.qr(linear.down.t())
    left, values, right = torch.linalg.svd(up @ down.t())
    roots = values[:rank].sqrt()
    pair = up_basis @ left[:, :rank] * roots, roots[:, None] * right[:rank] @ down_basis.t()
    return pair[0].numpy(), pair[1].numpy()


@dataclass(frozen=True, slots=True)
class Read:
    """Keys and values by layer, of a window's prefix and of its suffixes. `states` [P, D] are the prefix's."""

    prefix: list[KeysValues]
    suffixes: list[KeysValues]
    states: Tensor


def read_context(network: Network, laid: Laid) -> Read:
    """Read a window's prefix and, after it, the suffixes of its holes."""
    of_prefixes: list[KeysValues] = []
    of_contexts: list[KeysValues] = []

    def of_prefix(_layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        of_prefixes.append((keys, values))
        return attend_to_prefix(queries, keys, values)

    def of_suffixes(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        of_contexts.append((keys, values))
        return attend_in_groups(queries, of_prefixes[layer], (keys, values), laid.suffixes)

    states = forward(network, network.embed(laid.prefix), torch.arange(len(laid.prefix)), of_prefix)
    forward(network, network.embed(laid.suffixes.ids), laid.suffixes.positions, of_suffixes)
    return Read(of_prefixes, of_contexts, states)


def learned_states(network: Network, laid: Laid, read: Read) -> Tensor:
    """Return states [N, D], before the norm, of the rows that predict the targets."""

    def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        before = read.suffixes[layer]
        own = torch.cat([before[0], keys], 1), torch.cat([before[1], values], 1)
        return attend_in_groups(queries, read.prefix[layer], own, laid.middles)

    return forward(network, network.embed(laid.middles.ids), laid.middles.positions, attend)[laid.rows]
