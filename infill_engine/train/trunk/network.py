"""The trunk for training: frozen in int8, every matrix with a trainable low-rank term."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from infill_engine.models.duostream.kernels import Kernel
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.checkpoint import TrunkWeights
from infill_engine.models.trunk.network import KeysValues, Layer, Network, forward, normed
from infill_engine.models.trunk.smoothing import Smoothing
from infill_engine.train.trunk.data import Laid, Window, lay_out
from infill_engine.train.trunk.frozen import FrozenLinear

PARTS = {"qkv": ("q", "k", "v"), "out": ("o",), "gate_up": ("gate", "up"), "down": ("down",)}
INPUTS = {"qkv": "attention", "out": "o", "gate_up": "mlp", "down": "down"}  # of the matrices, by their names there


@dataclass(frozen=True, slots=True)
class Scored:
    """What the network thinks of the learned tokens of a window, all [N]: losses in nats, whether it would say them."""

    losses: Tensor
    right: Tensor
    kinds: list[str]


class TrainedTrunk:
    """The network and its trainable matrices by name."""

    def __init__(self, weights: TrunkWeights, kernel: type[Kernel], rank: int) -> None:
        smoothing = Smoothing.load(weights.folder)
        self.linears: dict[str, FrozenLinear] = {}
        layers = [self._layer(weights, smoothing, number, kernel, rank) for number in range(weights.config.layers)]
        codes, scales = weights.embedding()
        head = codes.float().mul_(scales[:, None])
        self.network = Network(
            weights.config, layers, weights.read_vector("norm"), lambda ids: head[ids], lambda x: F.linear(x, head)
        )

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """The trained matrices: `….down` and `….up` of each linear."""
        named = ((name, linear) for name, linear in self.linears.items())
        return {f"{name}.{side}": getattr(linear, side) for name, linear in named for side in ("down", "up")}

    def adapter(self) -> Adapter:
        """What has been learned, as it is merged when the trunk is loaded."""
        return Adapter(
            {name: (linear.up.detach() * linear.scale, linear.down.detach()) for name, linear in self.linears.items()}
        )

    def score(self, window: Window, *, learning: bool) -> Scored:
        """The learned tokens of a window. With `learning`, the losses have gradients; the context's rows never do."""
        laid = lay_out(window)
        with torch.no_grad():
            past = self._read(laid)
        with torch.set_grad_enabled(learning):
            states = forward(
                self.network,
                self.network.embed(laid.learned.ids),
                laid.learned.positions,
                laid.learned.mask,
                lambda layer, keys, values: (
                    torch.cat([past[layer][0], keys], 1),
                    torch.cat([past[layer][1], values], 1),
                ),
            )
            logits = self.network.logits(normed(self.network, states[laid.rows]))
            losses = F.cross_entropy(logits, laid.targets, reduction="none")
        return Scored(losses, logits.argmax(-1) == laid.targets, laid.kinds)

    def _read(self, laid: Laid) -> list[KeysValues]:
        """Keys and values of the context, by layer."""
        found: list[KeysValues] = []

        def remember(_layer: int, keys: Tensor, values: Tensor) -> KeysValues:
            found.append((keys, values))
            return keys, values

        context = laid.context
        forward(self.network, self.network.embed(context.ids), context.positions, context.mask, remember)
        return found

    def _layer(
        self, weights: TrunkWeights, smoothing: Smoothing, number: int, kernel: type[Kernel], rank: int
    ) -> Layer:
        linears = {}
        for name, parts in PARTS.items():
            matrix = torch.cat([weights.read_matrix(number, part) for part in parts])
            biases = [weights.read_vector(f"layers.{number}.{part}.bias") for part in parts] if name == "qkv" else []
            factors = smoothing.factors(number, INPUTS[name], matrix)
            linears[name] = FrozenLinear(matrix, torch.cat(biases) if biases else None, kernel, rank, factors)
            self.linears[f"layers.{number}.{name}"] = linears[name]
        attention_norm = weights.read_vector(f"layers.{number}.attention_norm")
        mlp_norm = weights.read_vector(f"layers.{number}.mlp_norm")
        return Layer(attention_norm, mlp_norm, linears["qkv"], linears["out"], linears["gate_up"], linears["down"])
