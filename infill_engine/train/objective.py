"""The training losses: masked canvas tokens, both streams' next tokens, and the hole's length."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.duostream.net import MAX_SLOTS, Duostream, Frames, Visible

FORBIDDEN = -1e9  # finite, so that a slot that sees nothing but itself still has a softmax


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Weights of the losses, and how many stream positions of each window are scored."""

    canvas: float = 1.0
    streams: float = 0.5
    length: float = 0.1
    stream_positions: int = 192


def losses(model: Duostream, batch: dict[str, Tensor], settings: LossSettings, *, canvases: bool) -> dict[str, Tensor]:
    """Mean losses in nats: `prefix`, `suffix`, with `canvases` also `canvas` and `length`; `total` is the weighted sum.

    `batch` is as `draw_window` describes, stacked: [B, L] tokens, [B, M] slots, [B, K] holes.
    """
    tokens = batch["tokens"]
    forward, backward = model.streams(tokens)
    scored = torch.randperm(tokens.shape[1] - 1, device=tokens.device)[: settings.stream_positions]
    found = {
        "prefix": _next_token(model, forward, tokens, scored),
        "suffix": _next_token(model, backward, tokens.flip(1), scored),
    }
    total = settings.streams * (found["prefix"] + found["suffix"])
    if canvases:
        found["canvas"] = canvas_loss(model, forward, backward, batch)
        found["length"] = length_loss(model, forward, backward, batch)
        total = total + settings.canvas * found["canvas"] + settings.length * found["length"]
    return found | {"total": total}


def canvas_loss(model: Duostream, forward: Tensor, backward: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """Weighted mean cross-entropy at the masked and the corrupted slots."""
    length = batch["tokens"].shape[1]
    start, end, seen, index = batch["start"], batch["end"], batch["seen"], batch["index"]
    positions = torch.arange(length, device=start.device)
    mirrored = length - 1 - positions  # suffix states are reversed: stream index r is token L-1-r
    visible = Visible(
        prefix=_mask(positions < start[..., None], forward.dtype),
        suffix=_mask((mirrored >= end[..., None]) & (mirrored < seen[..., None]), forward.dtype),
        canvas=_mask(batch["hole"][:, None, :] == batch["hole"][:, :, None], forward.dtype),
    )
    frames = Frames(
        model.rotary(index), model.rotary(start + index), model.rotary(length - end - 1 + MAX_SLOTS - index)
    )
    edge = edge_states(forward, backward, start, end, seen > end)
    x = model.canvas_input(batch["ids"], batch["left"], batch["kind"], edge)
    tables = model.rotary(positions)
    prefix = model.context_kv(forward, tables)
    suffix = model.context_kv(backward, tables)
    states = model.decode(x, frames, prefix, suffix, visible)
    entropy = F.cross_entropy(model.logits(states).flatten(0, 1).float(), batch["target"].flatten(), reduction="none")
    weight = batch["weight"].flatten()
    return (entropy * weight).sum() / weight.sum().clamp(min=1)


def length_loss(model: Duostream, forward: Tensor, backward: Tensor, batch: dict[str, Tensor]) -> Tensor:
    """Mean cross-entropy of the holes' length buckets; 0 where a batch has no hole at all."""
    edge = edge_states(forward, backward, batch["length_start"], batch["length_end"], None)
    logits = model.length_logits(edge, batch["length_kind"]).flatten(0, 1).float()
    buckets = batch["length_bucket"].flatten()
    entropy = F.cross_entropy(logits, buckets, ignore_index=-1, reduction="sum")
    return entropy / (buckets >= 0).sum().clamp(min=1)


def edge_states(forward: Tensor, backward: Tensor, start: Tensor, end: Tensor, has_suffix: Tensor | None) -> Tensor:
    """The states next to the hole, [B, n, 2D]: of the token left of `start`, and of that at `end` (zeros if unseen)."""
    left = forward.gather(1, (start - 1)[..., None].expand(-1, -1, forward.shape[-1]))
    right = backward.gather(1, (forward.shape[1] - 1 - end)[..., None].expand(-1, -1, forward.shape[-1]))
    if has_suffix is not None:
        right = right * has_suffix[..., None].to(right.dtype)
    return torch.cat([left, right], -1)


def _next_token(model: Duostream, states: Tensor, tokens: Tensor, scored: Tensor) -> Tensor:
    logits = model.logits(states[:, scored]).flatten(0, 1).float()
    return F.cross_entropy(logits, tokens[:, scored + 1].flatten())


def _mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.where(allowed, 0.0, FORBIDDEN).to(dtype).unsqueeze(1)
