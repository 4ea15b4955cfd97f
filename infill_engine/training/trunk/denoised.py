"""The trunk with trainable mask rows. Real rows are frozen and read without gradients; mask rows learn from them."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from infill_engine.models.quantization.int8_kernels import Kernel
from infill_engine.models.quantization.int8_linear import quantise
from infill_engine.models.trunk.adapter import Adapter
from infill_engine.models.trunk.denoiser import BLOCK, HEAD, Denoiser, Head
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.network import KeysValues, Layer, Network, forward, normed
from infill_engine.models.trunk.smoothing import Smoothing
from infill_engine.training.trunk.attention import attend_in_groups
from infill_engine.training.trunk.blocks import LENGTHS, Blocks, lay_out_blocks
from infill_engine.training.trunk.data import Laid, Window, lay_out
from infill_engine.training.trunk.frozen import FrozenLinear
from infill_engine.training.trunk.network import INPUTS, PARTS, read_context

HEAD_RANK = 64
GOLD_SHARE = 0.1  # of the loss; the rest is the distance from the trunk's own distribution
FADING = 4.0  # positions in a block after which a slot's weight falls to 1 / e
TEACHERS_BEST, COMMON, SAMPLED = 16, 8192, 4096  # tokens over which a student's distribution is computed


@dataclass(frozen=True, slots=True)
class Slots:
    """Results of the mask rows for their slots, all [N].

    Position in the block from 0, weighted loss, whether the head's choice equals the trunk's, and whether the mask
    row's choice without the head does.
    """

    places: Tensor
    losses: Tensor
    right: Tensor
    right_alone: Tensor


class DenoisedTrunk:
    """The frozen trunk with its adapter merged, and the parameters of mask rows by name."""

    def __init__(self, weights: TrunkWeights, adapter: Adapter, kernel: type[Kernel], rank: int) -> None:
        smoothing = Smoothing.load(weights.folder)
        self._linears: dict[str, FrozenLinear] = {}
        both = [
            self._layer(weights, adapter, smoothing, number, kernel, rank) for number in range(weights.config.layers)
        ]
        codes, scales = weights.embedding()
        self._embedding = codes.float().mul_(scales[:, None])
        head = kernel(*quantise(self._embedding))
        self.frozen = Network(
            weights.config, [layer for layer, _ in both], weights.read_vector("norm"), self._embed, head.product
        )
        self._masked = replace(self.frozen, layers=[layer for _, layer in both])
        dim = weights.config.dim
        self._masks = nn.Parameter(self._embedding.mean(0).repeat(BLOCK, 1))
        self._head = {
            "from_token": nn.Parameter(torch.randn(HEAD_RANK, dim) / dim**0.5),
            "from_state": nn.Parameter(torch.randn(HEAD_RANK, dim) / dim**0.5),
            "to_state": nn.Parameter(torch.zeros(dim, HEAD_RANK)),
        }

    @property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Return all trained parameters."""
        terms = {
            f"{name}.{side}": getattr(linear, side) for name, linear in self._linears.items() for side in ("down", "up")
        }
        return {**terms, "masks": self._masks, **{f"head.{name}": self._head[name] for name in HEAD}}

    def start_masks_from(self, token: int) -> None:
        """Initialise the mask embeddings from a token's embedding."""
        with torch.no_grad():
            self._masks.copy_(self._embedding[token].repeat(BLOCK, 1))

    def denoiser(self, survival: tuple[float, ...]) -> Denoiser:
        """Return the trained parameters in the form used for serving."""
        terms = {
            name: (linear.up.detach() * linear.scale, linear.down.detach()) for name, linear in self._linears.items()
        }
        return Denoiser(terms, self._masks.detach(), Head(*(self._head[name].detach() for name in HEAD)), survival)

    def learn(self, window: Window, anchors: int, rng: random.Random) -> Slots:
        """Return the slots after at most `anchors` anchors of a window, with losses that have gradients."""
        return self._score(window, anchors, rng, LENGTHS, learning=True)

    @torch.no_grad()
    def evaluate(self, window: Window, anchors: int, rng: random.Random) -> Slots:
        """Like `learn`, but for whole blocks and without gradients; losses are zero."""
        return self._score(window, anchors, rng, (BLOCK,), learning=False)

    def _score(
        self, window: Window, anchors: int, rng: random.Random, lengths: tuple[int, ...], *, learning: bool
    ) -> Slots:
        laid = lay_out(window)
        blocks = lay_out_blocks(window, laid, anchors, rng, lengths)
        with torch.no_grad():
            context, states = self._read(laid)
            rows, number = blocks.teachers.unique(return_inverse=True)
            teacher = torch.log_softmax(self.frozen.logits(normed(self.frozen, states[rows])), -1)
        own = normed(self._masked, self._mask_states(blocks, context))
        moved = Head(*(self._head[name] for name in HEAD)).moved(own, self._embed(blocks.before))
        if not learning:
            chosen = teacher.argmax(-1)[number]
            right, alone = (self.frozen.logits(each).argmax(-1) == chosen for each in (moved, own))
            return Slots(blocks.places, torch.zeros(len(chosen)), right, alone)
        # Serving picks a slot's likeliest tokens before the head is applied, so some slots are trained without it.
        without = torch.rand(len(own), 1, generator=torch.Generator().manual_seed(rng.randrange(2**31))) < 0.5
        return self._loss(blocks, torch.where(without, own, moved), teacher, number)

    def _loss(self, blocks: Blocks, states: Tensor, teacher: Tensor, number: Tensor) -> Slots:
        """Return the slots with their losses.

        `teacher` [R, V] are log-probabilities. `number` [N] is the teacher row of each slot.
        """
        best = teacher.topk(min(TEACHERS_BEST, teacher.shape[-1])).indices
        tokens = _sampled(len(self._embedding), torch.cat([best.flatten(), blocks.targets]))
        logprobs = torch.log_softmax(F.linear(states, self._embedding[tokens]), -1)
        wanted = torch.log_softmax(teacher[:, tokens], -1)[number]
        distance = (wanted.exp() * (wanted - logprobs)).sum(-1)
        gold = F.nll_loss(logprobs, torch.searchsorted(tokens, blocks.targets), reduction="none")
        losses = ((1 - GOLD_SHARE) * distance + GOLD_SHARE * gold) * torch.exp(-blocks.places / FADING)
        right = tokens[logprobs.argmax(-1)] == best[number, 0]
        return Slots(blocks.places, losses, right, right)

    def _read(self, laid: Laid) -> tuple[list[KeysValues], Tensor]:
        """Return keys and values of prefix, suffixes and middles, in this order, by layer; and states [T, D].

        The states are those of prefix and middles.
        """
        read = read_context(self.frozen, laid)
        context: list[KeysValues] = []

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            prefix, suffixes = read.prefix[layer], read.suffixes[layer]
            own = torch.cat([suffixes[0], keys], 1), torch.cat([suffixes[1], values], 1)
            context.append((torch.cat([prefix[0], own[0]], 1), torch.cat([prefix[1], own[1]], 1)))
            return attend_in_groups(queries, prefix, own, laid.middles)

        middles = forward(self.frozen, self._embed(laid.middles.ids), laid.middles.positions, attend)
        return context, torch.cat([read.states, middles])

    def _mask_states(self, blocks: Blocks, context: list[KeysValues]) -> Tensor:
        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            return attend_in_groups(queries, context[layer], (keys, values), blocks.rows)

        return forward(self._masked, self._masks[blocks.places], blocks.rows.positions, attend)

    def _embed(self, ids: Tensor) -> Tensor:
        return self._embedding[ids]

    def _layer(
        self,
        weights: TrunkWeights,
        adapter: Adapter,
        smoothing: Smoothing,
        number: int,
        kernel: type[Kernel],
        rank: int,
    ) -> tuple[Layer, Layer]:
        """Return a layer as used by real rows and as used by mask rows."""
        linears: dict[str, FrozenLinear] = {}
        for name, parts in PARTS.items():
            matrix = adapter.merged(
                f"layers.{number}.{name}", torch.cat([weights.read_matrix(number, part) for part in parts])
            )
            biases = [weights.read_vector(f"layers.{number}.{part}.bias") for part in parts] if name == "qkv" else []
            factors = smoothing.factors(number, INPUTS[name], matrix)
            linears[name] = FrozenLinear(matrix, torch.cat(biases) if biases else None, kernel, rank, factors)
            self._linears[f"layers.{number}.{name}"] = linears[name]
        attention_norm = weights.read_vector(f"layers.{number}.attention_norm")
        mlp_norm = weights.read_vector(f"layers.{number}.mlp_norm")

        def layer(product: Callable[[FrozenLinear], Callable[[Tensor], Tensor]]) -> Layer:
            qkv, out, gate_up, down = (product(linears[name]) for name in ("qkv", "out", "gate_up", "down"))
            return Layer(attention_norm, mlp_norm, qkv, out, gate_up, down)

        return layer(lambda linear: linear.frozen), layer(lambda linear: linear)


def survival_of(slots: list[Slots]) -> tuple[float, ...]:
    """Return, for each position, the share of correct choices among the blocks that were correct up to there."""
    right, reached = [0] * BLOCK, [0] * BLOCK
    for each in slots:
        alive = True
        for place, good in zip(each.places.tolist(), each.right.tolist(), strict=True):
            alive = alive or place == 0
            reached[place] += alive
            alive = alive and good
            right[place] += alive
    return tuple(round(good / max(count, 1), 4) for good, count in zip(right, reached, strict=True))


def mean_loss(slots: Slots) -> Tensor:
    """Return the mean of the weighted losses."""
    return slots.losses.sum() / max(math.fsum(torch.exp(-slots.places / FADING).tolist()), 1e-6)


def _sampled(vocabulary: int, needed: Tensor) -> Tensor:
    """Return the `needed` tokens, the common ones (those with the lowest ids), and a sample of the rest, sorted."""
    common = torch.arange(min(COMMON, vocabulary))
    tokens: Tensor = torch.cat([needed, common, torch.randint(vocabulary, (SAMPLED,))]).unique()
    return tokens
