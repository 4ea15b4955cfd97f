"""Computes the trunk with torch: on CUDA and Apple's Metal, and wherever OpenVINO cannot be used."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from infill_engine.models.trunk.backends.interface import LIKELIEST, PassResult
from infill_engine.models.trunk.backends.torch_blocks import TorchBlocks
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.forms import PassForm
from infill_engine.models.trunk.network import (
    UNSEEN,
    Network,
    attention,
    forward,
    normed,
    rotate,
    rotations,
)
from infill_engine.models.trunk.slots import SLOTS, Bools, Rows
from infill_engine.models.trunk.soft_prompt import SoftPrompt

Buffer = list[Tensor]  # a layer's keys and values each, [2, kv_heads, SLOTS, head_dim]


@dataclass(frozen=True, slots=True)
class TorchBackend:
    """Implements `interface.Backend`. `dtype` is the type of the computations between the matrices."""

    forms: ClassVar[tuple[PassForm, ...]] = ()  # see `Backend`
    network: Network
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    profile: str = ""
    blocks: TorchBlocks | None = None
    adapted: Network | None = None  # the same network with the terms of the edit adapter

    @property
    def config(self) -> TrunkConfig:
        """The shape of the network."""
        return self.network.config

    @property
    def denoiser(self) -> Denoiser | None:
        """See `Backend`."""
        return None if self.blocks is None else self.blocks.denoiser

    @property
    def adapts(self) -> bool:
        """See `Backend`."""
        return self.adapted is not None

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        shape = (2, self.config.kv_heads, SLOTS, self.config.head_dim)
        return [torch.zeros(shape, dtype=self.dtype, device=self.device) for _ in range(self.config.layers)]

    @torch.inference_mode()
    def run(self, buffer: Buffer, rows: Rows, first: int) -> PassResult:
        """See `Backend`."""
        network = self.adapted if rows.adapted else self.network
        assert network is not None
        slots, used = torch.tensor(rows.slots, device=self.device), rows.used
        mask = self._mask(rows.seen[:, used])

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            kept = buffer[layer]
            kept[0].index_copy_(1, slots, keys)
            kept[1].index_copy_(1, slots, values)
            return attention(queries, kept[0, :, used], kept[1, :, used], mask)

        x = network.embed(torch.tensor(rows.ids, device=self.device))
        positions, denoised = torch.tensor(list(rows.positions), device=self.device), None
        joins = self.blocks.denoiser.first_layer if self.blocks is not None else len(network.layers)
        entered = forward(network, x, positions, attend, slice(joins))
        states = forward(network, entered, positions, attend, slice(joins, None))
        if self.blocks is not None and rows.blocks:
            denoised = self.blocks.denoise(entered, buffer, rows)
        logprobs = torch.log_softmax(network.logits(normed(network, states[first:])).float(), -1)
        likeliest = logprobs.topk(LIKELIEST).indices
        return PassResult(logprobs.numpy(force=True), likeliest.numpy(force=True), denoised)

    def _mask(self, seen: Bools) -> Tensor:
        hidden = ~torch.from_numpy(seen).to(self.device)
        mask = torch.zeros(seen.shape, device=self.device, dtype=self.dtype)
        return mask.masked_fill_(hidden, max(UNSEEN, torch.finfo(self.dtype).min))

    @torch.inference_mode()
    def copy(self, buffer: Buffer, slots: Sequence[int], to: int) -> None:
        """See `Backend`."""
        wanted = list(slots)
        for kept in buffer:
            kept[:, :, to : to + len(wanted)] = kept[:, :, wanted]

    @torch.inference_mode()
    def copy_from(self, buffer: Buffer, other: Buffer, slots: slice) -> None:
        """See `Backend`."""
        for kept, source in zip(buffer, other, strict=True):
            kept[:, :, slots] = source[:, :, slots]

    @torch.inference_mode()
    def write(self, buffer: Buffer, slots: slice, prompt: SoftPrompt) -> None:
        """See `Backend`."""
        for kept, keys, values in zip(buffer, prompt.keys, prompt.values, strict=True):
            kept[0, :, slots], kept[1, :, slots] = torch.tensor(keys), torch.tensor(values)

    @torch.inference_mode()
    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = rotations(self.config, torch.tensor([by], device=self.device))
        for kept in buffer:
            kept[0, :, slots] = rotate(kept[0, :, slots].float(), cos, sin).to(kept.dtype)
