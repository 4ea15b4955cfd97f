"""Computes the trunk with torch: on a CPU in int8, on CUDA and Apple's Metal in half precision."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from infill_engine.models.trunk.backend import LIKELIEST, Floats, Likely
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser, MaskProposals, unit
from infill_engine.models.trunk.network import (
    UNSEEN,
    Network,
    attention,
    forward,
    normed,
    rotate,
    rotations,
    with_masks,
)
from infill_engine.models.trunk.slots import SLOTS, Bools, MaskRows, Rows

Buffer = list[Tensor]  # a layer's keys and values each, [2, kv_heads, SLOTS, head_dim]


@dataclass(frozen=True, slots=True)
class TorchBackend:
    """Implements `backend.Backend`. `dtype` is the type of the computations between the matrices.

    With a `denoiser`, its masks and head are on the device, and the layers of the network have its terms.
    """

    network: Network
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    profile: str = ""
    denoiser: Denoiser | None = None

    @property
    def config(self) -> TrunkConfig:
        """The shape of the network."""
        return self.network.config

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        shape = (2, self.config.kv_heads, SLOTS, self.config.head_dim)
        return [torch.zeros(shape, dtype=self.dtype, device=self.device) for _ in range(self.config.layers)]

    @property
    def survival(self) -> tuple[float, ...]:
        """See `Backend`."""
        return () if self.denoiser is None else self.denoiser.survival

    @torch.inference_mode()
    def run(self, buffer: Buffer, rows: Rows, first: int, masks: MaskRows | None = None) -> Likely:
        """See `Backend`."""
        slots, used, real = torch.tensor(rows.slots, device=self.device), rows.used, len(rows)
        mask = self._mask(rows.seen[:, used])
        mask_of_masks = self._mask(np.concatenate([masks.seen[:, used], masks.block], 1)) if masks else None

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            kept = buffer[layer]
            kept[0].index_copy_(1, slots, keys[:, :real])
            kept[1].index_copy_(1, slots, values[:, :real])
            # Rows of tokens are multiplied separately: sums in another order would differ in the last bit.
            found = attention(queries[:, :real], kept[0, :, used], kept[1, :, used], mask)
            if mask_of_masks is None:
                return found
            known = torch.cat([kept[0, :, used], keys[:, real:]], 1)
            told = torch.cat([kept[1, :, used], values[:, real:]], 1)
            return torch.cat([found, attention(queries[:, real:], known, told, mask_of_masks)])

        x = self.network.embed(torch.tensor(rows.ids, device=self.device))
        positions = [*rows.positions, *(masks.positions if masks else ())]
        if masks and self.denoiser:
            x = torch.cat([x, self.denoiser.masks[list(masks.places)]])
        network = with_masks(self.network, len(masks) if masks else 0)
        states = forward(network, x, torch.tensor(positions, device=self.device), attend)
        outputs = normed(network, states[first:])
        logprobs = torch.log_softmax(network.logits(outputs).float(), -1)
        likeliest = logprobs.topk(LIKELIEST).indices
        proposals = None
        if masks:
            proposed = slice(real - first, None)
            proposals = self._proposals(masks, outputs[proposed], logprobs[proposed], likeliest[proposed])
        found = slice(0, real - first)
        return Likely(logprobs[found].numpy(force=True), likeliest[found].numpy(force=True), proposals)

    def _mask(self, seen: Bools) -> Tensor:
        hidden = ~torch.from_numpy(seen).to(self.device)
        mask = torch.zeros(seen.shape, device=self.device, dtype=self.dtype)
        return mask.masked_fill_(hidden, max(UNSEEN, torch.finfo(self.dtype).min))

    def _proposals(self, masks: MaskRows, states: Tensor, logprobs: Tensor, tokens: Tensor) -> MaskProposals:
        """Proposals of mask rows with normed states [M, D], log-probabilities [M, V] and likeliest tokens [M, K]."""
        assert self.denoiser is not None
        head, embed = self.denoiser.head, self.network.embed

        @torch.inference_mode()
        def by_token(token: int) -> Floats:
            before = embed(torch.tensor([token], device=self.device))
            return F.linear(unit(before), head.from_token)[0].float().numpy(force=True)

        moves = embed(tokens.flatten()).view(*tokens.shape, -1) @ head.to_state
        return MaskProposals(
            masks.anchors,
            masks.places,
            tokens.numpy(force=True),
            logprobs.gather(1, tokens).numpy(force=True),
            F.linear(unit(states), head.from_state).float().numpy(force=True),
            moves.float().numpy(force=True),
            by_token,
        )

    @torch.inference_mode()
    def copy(self, buffer: Buffer, slots: Sequence[int], to: int) -> None:
        """See `Backend`."""
        wanted = list(slots)
        for kept in buffer:
            kept[:, :, to : to + len(wanted)] = kept[:, :, wanted]

    @torch.inference_mode()
    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = rotations(self.config, torch.tensor([by], device=self.device))
        for kept in buffer:
            kept[0, :, slots] = rotate(kept[0, :, slots].float(), cos, sin).to(kept.dtype)
