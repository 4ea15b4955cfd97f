"""The training losses: masked canvas tokens, both streams' next tokens, prompted middles, and the hole's length."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.duostream.net import MAX_SLOTS, PREFIX, PROMPT_LINE, Duostream, Frames, Streams, Visible
from infill_engine.train.data import HISTORY

FORBIDDEN = -1e9  # finite, so that a slot that sees nothing but itself still has a softmax


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Weights of the losses, and how many stream positions of each window are scored."""

    canvas: float = 1.0
    streams: float = 0.5
    prompt: float = 1.0
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
    """Mean cross-entropy of what follows the tokens of a prompt's line; 0 where a batch has no prompt.

    All prompts of a window lie side by side behind its prefix stream: first what each sees aside, then its line.
    """
    aside, line, start = batch["prompt_aside"], batch["prompt_line"], batch["prompt_start"]
    windows, prompts = start.shape
    asides, lines = aside.shape[2], line.shape[2] - HISTORY
    size = asides + lines
    embedded = [
        model.embed(ids.flatten(0, 1), ids.new_full((windows * prompts,), PREFIX))[:, back:]
        for ids, back in ((aside, 0), (line, HISTORY))
    ]
    x = torch.cat(embedded, 1).reshape(windows, prompts * size, -1)
    places = torch.cat([PROMPT_LINE + torch.arange(asides), torch.arange(lines)]).to(start.device)
    tables = model.rotary((start[..., None] + places).flatten(1))
    states, _ = model.encode(x, tables, streams.encoder, _seen_by_prompts(batch, streams.prefix.shape[1]))
    states = states.view(windows, prompts, size, -1)[:, :, asides:]
    return _mean_of_used(model.logits(states), batch["prompt_target"])


def _seen_by_prompts(batch: dict[str, Tensor], length: int) -> Tensor:
    """What prompts of asides and lines, side by side behind `length` tokens of the window, see [B, 1, Q*T, L + Q*T].

    An aside sees itself; a line sees the window before it, its aside and itself.
    """
    start, shown = batch["prompt_start"], batch["prompt_shown"]
    windows, prompts = start.shape
    asides, lines = batch["prompt_aside"].shape[2], batch["prompt_line"].shape[2] - HISTORY
    places = torch.arange(asides + lines, device=start.device)
    in_line = places >= asides
    above = torch.arange(length, device=start.device) < start[..., None]
    above = (above[:, :, None] & in_line[:, None]).flatten(1, 2)
    own = (places[:, None] >= places) & (in_line | (places < shown[..., None]))[:, :, None]
    same = torch.eye(prompts, dtype=torch.bool, device=start.device)
    own = (own[:, :, :, None] & same[:, None, :, None]).expand(windows, prompts, len(places), prompts, len(places))
    return torch.cat([above, own.flatten(3).flatten(1, 2)], -1).unsqueeze(1)


def length_loss(model: Duostream, streams: Streams, batch: dict[str, Tensor]) -> Tensor:
    """Mean cross-entropy of the holes' length buckets; 0 where a batch has no hole at all."""
    edge = edge_states(streams.prefix, streams.suffix, batch["length_start"], batch["length_end"], None)
    return _mean_of_used(model.length_logits(edge, batch["length_kind"]), batch["length_bucket"])


def edge_states(forward: Tensor, backward: Tensor, start: Tensor, end: Tensor, has_suffix: Tensor | None) -> Tensor:
    """The states next to the hole, [B, n, 2D]: of the token left of `start`, and of that at `end` (zeros if unseen)."""
    left = forward.gather(1, (start - 1)[..., None].expand(-1, -1, forward.shape[-1]))
    right = backward.gather(1, (forward.shape[1] - 1 - end)[..., None].expand(-1, -1, forward.shape[-1]))
    if has_suffix is not None:
        right = right * has_suffix[..., None].to(right.dtype)
    return torch.cat([left, right], -1)


def _mean_of_used(logits: Tensor, target: Tensor) -> Tensor:
    """Mean cross-entropy of logits [..., n] where `target` [...] is not -1; 0 where it is so everywhere."""
    entropy = F.cross_entropy(logits.flatten(0, -2).float(), target.flatten(), ignore_index=-1, reduction="sum")
    return entropy / (target >= 0).sum().clamp(min=1)


def _next_token(model: Duostream, states: Tensor, tokens: Tensor, scored: Tensor) -> Tensor:
    logits = model.logits(states[:, scored]).flatten(0, 1).float()
    return F.cross_entropy(logits, tokens[:, scored + 1].flatten())


def _mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.where(allowed, 0.0, FORBIDDEN).to(dtype).unsqueeze(1)
