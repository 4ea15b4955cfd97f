"""The training losses: masked canvas tokens, both streams' next tokens, prompted middles, and the hole's length."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.duostream.net import MAX_SLOTS, PREFIX, Duostream, Frames, Streams, Visible
from infill_engine.train.data import HISTORY

FORBIDDEN = -1e9  # finite, so that a slot that sees nothing but itself still has a softmax


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Weights of the losses, and how many stream positions of each window are scored."""

    canvas: float = 1.0
    streams: float = 0.5
    prompt: float = 0.5
    length: float = 0.1
    stream_positions: int = 192


def losses(model: Duostream, batch: dict[str, Tensor], settings: LossSettings, *, canvases: bool) -> dict[str, Tensor]:
    """Mean losses in nats, and `total`, their weighted sum.

    `prefix` and `suffix`, with `canvases` also `canvas`, `prompt` and `length`. `batch` is as `draw_window` describes,
    stacked: [B, L] tokens, [B, M] slots, [B, K] holes, [B, Q] prompts.
    """
    tokens = batch["tokens"]
    streams = model.streams(tokens)
    scored = torch.randperm(tokens.shape[1] - 1, device=tokens.device)[: settings.stream_positions]
    found = {
        "prefix": _next_token(model, streams.prefix, tokens, scored),
        "suffix": _next_token(model, streams.suffix, tokens.flip(1), scored),
    }
    total = settings.streams * (found["prefix"] + found["suffix"])
    if canvases:
        found["canvas"] = canvas_loss(model, streams, batch)
        found["prompt"] = prompt_loss(model, streams, batch)
        found["length"] = length_loss(model, streams, batch)
        total = total + settings.canvas * found["canvas"] + settings.prompt * found["prompt"]
        total = total + settings.length * found["length"]
    return found | {"total": total}


def canvas_loss(model: Duostream, streams: Streams, batch: dict[str, Tensor]) -> Tensor:
    """Weighted mean cross-entropy at the masked and the corrupted slots."""
    forward, backward = streams.prefix, streams.suffix
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


def prompt_loss(model: Duostream, streams: Streams, batch: dict[str, Tensor]) -> Tensor:
    """Mean cross-entropy of what follows a prompt's <middle>; 0 where a batch has no prompt.

    All prompts of a window lie side by side behind its prefix stream, of which each sees what stands above its line.
    """
    ids, start = batch["prompt"], batch["prompt_start"]
    windows, prompts = start.shape
    size = ids.shape[2] - HISTORY
    embedded = model.embed(ids.flatten(0, 1), ids.new_full((windows * prompts,), PREFIX))[:, HISTORY:]
    x = embedded.reshape(windows, prompts * size, -1)
    places = torch.arange(size, device=ids.device)
    tables = model.rotary((start[..., None] + places).flatten(1))
    above = torch.arange(streams.prefix.shape[1], device=ids.device) < start[..., None]
    above = above[:, :, None].expand(-1, -1, size, -1).flatten(1, 2)
    prompt, place = torch.arange(prompts, device=ids.device).repeat_interleave(size), places.repeat(prompts)
    own = (prompt[:, None] == prompt) & (place[:, None] >= place)
    visible = torch.cat([above, own.expand(windows, -1, -1)], -1).unsqueeze(1)
    states, _ = model.encode(x, tables, streams.encoder, visible)
    scored = batch["prompt_scored"] + size * torch.arange(prompts, device=ids.device)[:, None]
    states = states.gather(1, scored.flatten(1)[..., None].expand(-1, -1, states.shape[-1]))
    target = batch["prompt_target"].flatten()
    logits = model.logits(states).flatten(0, 1).float()
    entropy = F.cross_entropy(logits, target, ignore_index=-1, reduction="sum")
    return entropy / (target >= 0).sum().clamp(min=1)


def length_loss(model: Duostream, streams: Streams, batch: dict[str, Tensor]) -> Tensor:
    """Mean cross-entropy of the holes' length buckets; 0 where a batch has no hole at all."""
    edge = edge_states(streams.prefix, streams.suffix, batch["length_start"], batch["length_end"], None)
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
