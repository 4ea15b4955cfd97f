"""The denoiser in torch: mask rows after real rows, computed from the denoiser's first layer on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  (the conventional name)
from torch import Tensor

from infill_engine.models.trunk.backends.interface import LIKELIEST
from infill_engine.models.trunk.backends.torch_products import Codes, Product, Scales
from infill_engine.models.trunk.denoiser import Denoised, Denoiser
from infill_engine.models.trunk.files.weights import Packed
from infill_engine.models.trunk.network import UNSEEN, Layer, Network, attention, forward, normed
from infill_engine.models.trunk.slots import Rows

OfRows = Callable[[Codes, Scales, Tensor | None], Product]
Kept = Sequence[Tensor]  # a layer's keys and values each, [2, kv_heads, S, head_dim]


@dataclass(frozen=True, slots=True)
class TorchBlocks:
    """The denoiser's weights on a device. `network` has the trunk's layers with the matrices of mask rows."""

    denoiser: Denoiser
    network: Network
    mask: Tensor  # [C, D]
    entry: Product
    head: Product
    confidence: Tensor  # [D]

    @classmethod
    def of(cls, denoiser: Denoiser, trunk: Network, head: Packed, of_rows: OfRows) -> "TorchBlocks":
        """Return the weights for the trunk's network; `head` is the trunk's."""
        arrays, like = denoiser.arrays, trunk.norm

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(np.array(arrays[name])).to(like.device, like.dtype)

        def product(name: str, bias: Tensor | None = None) -> Product:
            return of_rows(arrays[f"{name}.codes"], arrays[f"{name}.scales"][:, 0].astype(np.float32), bias)

        layers: list[Layer] = list(trunk.layers)
        for number in range(denoiser.first_layer, len(layers)):
            name = f"layers.{number}"
            layers[number] = replace(
                layers[number],
                attention_norm=tensor(f"{name}.attention_norm"),
                qkv=product(f"{name}.qkv", torch.from_numpy(np.array(arrays[f"{name}.bias"]))),
                out=product(f"{name}.out"),
            )
        codes, scales = head
        return cls(
            denoiser,
            replace(trunk, layers=layers),
            tensor("mask"),
            product("entry"),
            of_rows(codes[denoiser.vocabulary], scales[denoiser.vocabulary], None),
            tensor("confidence.weight")[:-1],
        )

    def denoise(self, entered: Tensor, kept: Kept, rows: Rows) -> Denoised:
        """Return what the mask rows propose. `entered` [T, D] are the states of `rows` at the first layer.

        `kept` has the keys and values of all layers, including those of `rows`.
        """
        blocks, used = rows.blocks, rows.used
        config, device, first_layer = self.network.config, entered.device, self.denoiser.first_layer
        slots = torch.from_numpy(blocks.slots).to(device)
        anchor = entered[torch.from_numpy(blocks.behind).to(device)]
        norm = self.network.layers[first_layer].attention_norm
        known = self.entry(F.rms_norm(anchor, (config.dim,), norm, config.norm_epsilon))
        known = known.view(len(slots), -1, config.dim)[torch.arange(len(slots), device=device), slots]
        x = anchor + known.to(anchor.dtype) + self.mask[slots]
        seen = torch.from_numpy(rows.seen_by_masks).to(device)
        hidden = torch.zeros(seen.shape, device=device, dtype=x.dtype)
        hidden = hidden.masked_fill_(~seen, max(UNSEEN, torch.finfo(x.dtype).min))

        def attend(layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
            of_rows = kept[layer][:, :, used]
            return attention(queries, torch.cat([of_rows[0], keys], 1), torch.cat([of_rows[1], values], 1), hidden)

        positions = torch.from_numpy(rows.mask_positions).to(device)
        states = normed(self.network, forward(self.network, x, positions, attend, slice(first_layer, None)))
        found = torch.log_softmax(self.head(states).float(), -1).topk(LIKELIEST)
        doubt = (states.float() @ self.confidence.float()).numpy(force=True)
        return Denoised(found.indices.numpy(force=True), found.values.numpy(force=True), doubt)
