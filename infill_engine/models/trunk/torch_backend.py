"""Computes the trunk through torch: on a CPU in int8, on CUDA and Apple's Metal in half precision."""

from dataclasses import dataclass

import torch
from torch import Tensor

from infill_engine.models.trunk.backend import LIKELIEST, Likely
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.network import UNSEEN, Network, attention, forward, normed, rotate, rotations
from infill_engine.models.trunk.slots import SLOTS, Rows

Buffer = list[Tensor]  # a layer's keys and values each, [2, kv_heads, SLOTS, head_dim]


@dataclass(frozen=True, slots=True)
class TorchBackend:
    """Implements `backend.Backend`. `dtype` is what is computed in between the matrices."""

    network: Network
    device: str = "cpu"
    dtype: torch.dtype = torch.float32
    profile: str = ""

    @property
    def config(self) -> TrunkConfig:
        """The shape of the network."""
        return self.network.config

    def new_buffer(self) -> Buffer:
        """See `Backend`."""
        shape = (2, self.config.kv_heads, SLOTS, self.config.head_dim)
        return [torch.zeros(shape, dtype=self.dtype, device=self.device) for _ in range(self.config.layers)]

    @torch.inference_mode()
    def run(self, buffer: Buffer, rows: Rows, first: int) -> Likely:
        """See `Backend`."""
        slots, used = torch.tensor(rows.slots, device=self.device), rows.used
        hidden = ~torch.from_numpy(rows.seen[:, used]).to(self.device)
        mask = torch.zeros(hidden.shape, device=self.device, dtype=self.dtype)
        mask.masked_fill_(hidden, max(UNSEEN, torch.finfo(self.dtype).min))

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            kept = buffer[layer]
            kept[0].index_copy_(1, slots, keys)
            kept[1].index_copy_(1, slots, values)
            return attention(queries, kept[0, :, used], kept[1, :, used], mask)

        x = self.network.embed(torch.tensor(rows.ids, device=self.device))
        states = forward(self.network, x, torch.tensor(rows.positions, device=self.device), attend)
        logits = self.network.logits(normed(self.network, states[first:])).float()
        logprobs = torch.log_softmax(logits, -1)
        likeliest = logprobs.topk(LIKELIEST).indices
        return Likely(logprobs.numpy(force=True), likeliest.numpy(force=True))

    @torch.inference_mode()
    def rotate(self, buffer: Buffer, slots: slice, by: int) -> None:
        """See `Backend`."""
        cos, sin = rotations(self.config, torch.tensor([by], device=self.device))
        for kept in buffer:
            kept[0, :, slots] = rotate(kept[0, :, slots].float(), cos, sin).to(kept.dtype)
