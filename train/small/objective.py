"""The training losses: masked canvas tokens, both streams' next tokens, prompted middles, and the hole's length."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.small.network.dual_encoder import MAX_SLOTS, PREFIX, PROMPT_LINE, DualEncoder, Streams
from infill_engine.models.small.network.layers import Frames, KeysValues, Visible
from train.small.data import HISTORY

FORBIDDEN = -1e9  # finite, so that a slot that sees nothing but itself still has a softmax


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Weights of the losses, and how many stream positions of each window are scored."""

    canvas: float = 1.0
    streams: float = 0.5
    prompt: float = 2.0  # high, because most of what is shown was drafted or scored by a prompt
    length: float = 0.1
    stream_positions: int = 192


def losses(
    model: DualEncoder, batch: dict[str, Tensor], settings: LossSettings, *, canvases: bool
) -> dict[str, Tensor]:
    """Return mean losses in nats, and `total`, their weighted sum.

    The losses are `prefix` and `suffix`, and with `canvases` also `canvas`, `prompt` and `length`. `batch` is as
    `draw_window` describes, stacked: [B, L] tokens, [B, M] slots, [B, K] holes, [B, Q] prompts.
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
        found["prompt"] = prompt_loss(model, streams.encoder, batch)
        found["length"] = length_loss(model, streams, batch)
        total = total + settings.canvas * found["canvas"] + settings.prompt * found["prompt"]
        total = total + settings.length * found["length"]
    return found | {"total": total}


def canvas_loss(model: DualEncoder, streams: Streams, batch: dict[str, Tensor]) -> Tensor:
    """Return the weighted mean cross-entropy at the slots. Visible slots, correct or corrupted, have a lower weight."""
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
    return _weighted_mean(model.logits(states), batch["target"], batch["weight"])


def prompt_loss(model: DualEncoder, encoder: Sequence[KeysValues], batch: dict[str, Tensor]) -> Tensor:
    """Return the weighted mean cross-entropy of what follows the tokens of a prompt's line; 0 without prompts.

    Each prompt continues the prefix stream of its window, whose keys and values `encoder` [B, H, L, hd] are: first its
    aside, then its line.
    """
    prompts = batch["prompt_start"].shape[1]
    drawn = {name: tensor.flatten(0, 1) for name, tensor in batch.items() if name.startswith("prompt_")}
    aside, line, start = drawn["prompt_aside"], drawn["prompt_line"], drawn["prompt_start"]
    direction = torch.full_like(start, PREFIX)
    x = torch.cat([model.embed(aside, direction), model.embed(line, direction)[:, HISTORY:]], 1)
    asides, lines = aside.shape[1], line.shape[1] - HISTORY
    places = torch.cat([PROMPT_LINE + torch.arange(asides), torch.arange(lines)]).to(start.device)
    past = [(keys.repeat_interleave(prompts, 0), values.repeat_interleave(prompts, 0)) for keys, values in encoder]
    seen = _seen_by_prompts(start, drawn["prompt_shown"], past[0][0].shape[2], asides, lines)
    states, _ = model.encode(x, model.rotary(start[:, None] + places), past, seen)
    return _weighted_mean(model.logits(states[:, asides:]), drawn["prompt_target"], drawn["prompt_weight"])


def prompt_loss_alone(model: DualEncoder, batch: dict[str, Tensor]) -> Tensor:
    """Return `prompt_loss` for training on prompts only, without reading suffix or canvas."""
    tokens = batch["tokens"]
    tables = model.rotary(torch.arange(tokens.shape[1], device=tokens.device))
    _, encoder = model.encode(model.embed(tokens, tokens.new_full((len(tokens),), PREFIX)), tables)
    return prompt_loss(model, encoder, batch)


def _seen_by_prompts(start: Tensor, shown: Tensor, above: int, asides: int, lines: int) -> Tensor:
    """Return the attention mask of prompts [P, 1, T, above + T]: aside and line, after `above` tokens of a window.

    An aside sees itself, of which `shown` [P] tokens are real. A line sees the window before `start` [P], its aside and
    itself.
    """
    places = torch.arange(asides + lines, device=start.device)
    in_line = places >= asides
    before = torch.arange(above, device=start.device) < start[:, None]
    before = before[:, None] & in_line[:, None]
    own = (places[:, None] >= places) & (in_line | (places < shown[:, None]))[:, None]
    return torch.cat([before, own], -1).unsqueeze(1)


def length_loss(model: DualEncoder, streams: Streams, batch: dict[str, Tensor]) -> Tensor:
    """Return the mean cross-entropy of the holes' length buckets; 0 for a batch without holes."""
    edge = edge_states(streams.prefix, streams.suffix, batch["length_start"], batch["length_end"], batch["length_seen"])
    return _mean_of_used(model.length_logits(edge, batch["length_kind"]), batch["length_bucket"])


def edge_states(forward: Tensor, backward: Tensor, start: Tensor, end: Tensor, has_suffix: Tensor) -> Tensor:
    """Return the states next to the hole, [B, n, 2D]: of the token left of `start`, and of the token at `end`.

    The state at `end` is zero if the suffix is hidden.
    """
    left = forward.gather(1, (start - 1)[..., None].expand(-1, -1, forward.shape[-1]))
    right = backward.gather(1, (forward.shape[1] - 1 - end)[..., None].expand(-1, -1, forward.shape[-1]))
    return torch.cat([left, right * has_suffix[..., None].to(right.dtype)], -1)


def _weighted_mean(logits: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits [B, n, V], weighted by `weight` [B, n]; 0 if all weights are 0."""
    entropy = F.cross_entropy(logits.flatten(0, 1).float(), target.flatten(), reduction="none")
    return (entropy * weight.flatten()).sum() / weight.sum().clamp(min=1)


def _mean_of_used(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits [..., n] over all `target` [...] other than -1; 0 if there are none."""
    entropy = F.cross_entropy(logits.flatten(0, -2).float(), target.flatten(), ignore_index=-1, reduction="sum")
    return entropy / (target >= 0).sum().clamp(min=1)


def _next_token(model: DualEncoder, states: Tensor, tokens: Tensor, scored: Tensor) -> Tensor:
    logits = model.logits(states[:, scored]).flatten(0, 1).float()
    return F.cross_entropy(logits, tokens[:, scored + 1].flatten())


def _mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.where(allowed, 0.0, FORBIDDEN).to(dtype).unsqueeze(1)
