"""The small model's network: two one-directional context streams and a shallow bidirectional canvas decoder.

    prefix tokens ──▶ encoder, left to right ──┐ keys/values, cached
                                               ├──▶ canvas decoder (few layers) ──▶ logits at the hole's slots
    suffix tokens ──▶ encoder, right to left ──┘ keys/values, cached

Both streams share the encoder's weights and differ by a direction embedding. The context never attends to the canvas,
so its keys and values are exact for every candidate and every denoising step, and typing only appends to one stream.

Frames: a stream counts its own tokens from its far end (0, 1, …), so the token next to the hole has the largest index.
Slot i of a canvas has index `prefix_length + i` in the prefix frame and `suffix_length - 1 + MAX_SLOTS - i` in the
suffix frame. The suffix thus always begins MAX_SLOTS after the start of the hole, and another hole length re-rotates
nothing.

The split into a shared context encoder and a small iterated decoder follows E2D2 (arXiv 2510.22852).

The prefix stream is also a language model and, when prompted, fills in by itself. It re-reads the text from the
cursor's line on. In addition to the text above, it then attends to part of the text after the hole (the "aside"). The
aside was read separately, from left to right, and is placed PROMPT_LINE tokens further on in the stream's frame. The
stream then generates the hole and <eos>.

    … lines above, the cursor's line ──▶ the hole, token by token, <eos>
                    └ sees ─ <mask> text right of the hole
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from infill_engine.models.quantization.int8_linear import Int8Embedding, Int8Linear
from infill_engine.models.small.network.config import DualEncoderConfig
from infill_engine.models.small.network.layers import (
    ContextKV,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Frames,
    KeysValues,
    Projection,
    Rotary,
    Tables,
    Visible,
    merge_heads,
    rotate,
)

PAD, MASK, EOS, BOS = 0, 1, 2, 3
MAX_SLOTS = 32
PROMPT_ASIDE = 64  # most tokens right of the hole that a prompt shows
PROMPT_LINE = 48  # most tokens of the cursor's line and the hole together
LENGTH_BUCKETS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
PREFIX, SUFFIX = 0, 1  # directions of a stream
Write = Callable[[Tensor, Tables, Sequence[KeysValues], int, Tensor], Tensor]  # see `DualEncoder.write`


@dataclass(frozen=True, slots=True)
class Streams:
    """Both streams over whole windows of L tokens.

    States [B, L, D]: the prefix stream's in text order, the suffix stream's reversed (index r is token L-1-r).
    `encoder` holds the prefix stream's keys and values per layer.
    """

    prefix: Tensor
    suffix: Tensor
    encoder: Sequence[KeysValues]


class DualEncoder(nn.Module):
    """The whole network. Training calls `streams`, `decode` and the heads; serving adds caches around them."""

    def __init__(self, config: DualEncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab, config.dim)
        self.bigrams = nn.Embedding(config.ngram_slots, config.dim)
        self.trigrams = nn.Embedding(config.ngram_slots, config.dim)
        self.directions = nn.Embedding(2, config.dim)
        self.smear = nn.Parameter(torch.zeros(config.dim))  # how much of the preceding token is mixed into each token
        self.rotary = Rotary(config.head_dim)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.encoder_norm = nn.RMSNorm(config.dim)
        self.slots_left = nn.Embedding(MAX_SLOTS, config.dim)
        self.kinds = nn.Embedding(config.kinds, config.dim)
        self.edges = nn.Linear(2 * config.dim, config.dim, bias=False)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.decoder_norm = nn.RMSNorm(config.dim)
        self.length_hidden = nn.Linear(3 * config.dim, config.dim, bias=False)
        self.length_head = nn.Linear(config.dim, len(LENGTH_BUCKETS), bias=False)
        self.apply(_initialise)
        for layer in (*self.encoder, *self.decoder):
            nn.init.zeros_(layer.output.weight)
            nn.init.zeros_(layer.feed_forward.down.weight)

    def join(self) -> None:
        """Prepare the network for serving only; see `Joined.join`."""
        for module in list(self.modules()):
            if isinstance(module, FeedForward | Projection | ContextKV):
                module.joined.join()

    @property
    def precision(self) -> str:
        """The number format of its matrix products, such as `float32` or `int8`."""
        edges: nn.Linear | Int8Linear = self.edges
        return edges.kernel.NAME if isinstance(edges, Int8Linear) else str(self.smear.dtype).removeprefix("torch.")

    def embed(self, ids: Tensor, direction: Tensor) -> Tensor:
        """Embed stream ids [B, T] (in stream order), direction [B], to [B, T, D].

        Each token also gets part of its predecessor ("smeared") and hashed tables of the last two and three tokens.
        These lookups let one attention layer copy. The first two tokens of `ids` must be the stream's first, or be
        recomputed.
        """
        before = F.pad(ids, (1, 0))[:, :-1]
        before2 = F.pad(ids, (2, 0))[:, :-2]
        slots = self.config.ngram_slots
        bigram = (ids * 36_313 + before * 27_191) % slots
        trigram = (ids * 36_313 + before * 27_191 + before2 * 51_647 + 7) % slots
        tokens = self.tokens(ids) + self.smear * self.tokens(before)
        embedded: Tensor = tokens + self.bigrams(bigram) + self.trigrams(trigram) + self.directions(direction)[:, None]
        return embedded

    def encode(
        self, x: Tensor, tables: Tables, past: Sequence[KeysValues] = (), visible: Tensor | None = None
    ) -> tuple[Tensor, list[KeysValues]]:
        """Return normed stream states of embedded tokens x [B, T, D] after `past`, and every layer's keys and values.

        For `visible` see `EncoderLayer.forward`.
        """
        layers = []
        for number, layer in enumerate(self.encoder):
            x, keys_values = layer(x, tables, past[number] if past else None, visible)
            layers.append(keys_values)
        return self.encoder_norm(x), layers

    def write(self, x: Tensor, tables: Tables, room: Sequence[KeysValues], at: int, hidden: Tensor) -> Tensor:
        """Return normed states [1, T, D] of embedded tokens x that follow what `room` holds before position `at`.

        Their own keys and values are written into `room` from `at` on: [1, H, S, hd] per layer. `hidden` is an additive
        mask [1, 1, T, S] that also hides positions not yet written.
        """
        here = slice(at, at + x.shape[1])
        for module, (keys, values) in zip(self.encoder, room, strict=True):
            layer = cast(EncoderLayer, module)
            query, key, value = layer.projection(x)
            keys[:, :, here] = rotate(key, tables)
            values[:, :, here] = value
            attended = F.scaled_dot_product_attention(rotate(query, tables), keys, values, attn_mask=hidden)
            x = layer.feed_forward(x + layer.output(merge_heads(attended)))
        states: Tensor = self.encoder_norm(x)
        return states

    def streams(self, ids: Tensor) -> Streams:
        """Run both streams over windows of ids [B, L]."""
        both = torch.cat([ids, ids.flip(1)])
        direction = torch.arange(2, device=ids.device).repeat_interleave(len(ids))
        tables = self.rotary(torch.arange(ids.shape[1], device=ids.device))
        states, layers = self.encode(self.embed(both, direction), tables)
        prefix, suffix = states.chunk(2)
        return Streams(prefix, suffix, [(keys[: len(ids)], values[: len(ids)]) for keys, values in layers])

    def context_kv(self, states: Tensor, tables: Tables) -> list[KeysValues]:
        """Return what each decoder layer reads of a stream with final `states` [B, T, D]."""
        return [cast(DecoderLayer, layer).context(states, tables) for layer in self.decoder]

    def canvas_input(self, ids: Tensor, slots_left: Tensor, kind: Tensor, edge: Tensor) -> Tensor:
        """Embed canvas ids, remaining slots and the hole's kind, all [B, M], with its edge states [B, M or 1, 2D]."""
        embedded: Tensor = self.tokens(ids) + self.slots_left(slots_left) + self.kinds(kind) + self.edges(edge)
        return embedded

    def decode(
        self,
        x: Tensor,
        frames: Frames,
        prefix: Sequence[KeysValues],
        suffix: Sequence[KeysValues],
        visible: Visible,
    ) -> Tensor:
        """Return normed canvas states [B, M, D] after all decoder layers, ready for `logits`."""
        for layer, prefix_kv, suffix_kv in zip(self.decoder, prefix, suffix, strict=True):
            x = layer(x, frames, prefix_kv, suffix_kv, visible)
        states: Tensor = self.decoder_norm(x)
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Return token logits [..., V] of states [..., D]. The embedding is also the output matrix."""
        tokens: nn.Embedding | Int8Embedding = self.tokens
        return tokens.product(states) if isinstance(tokens, Int8Embedding) else F.linear(states, tokens.weight)

    def length_logits(self, edge: Tensor, kind: Tensor) -> Tensor:
        """Return logits [..., buckets] over LENGTH_BUCKETS from edge states [..., 2D] and kind [...]."""
        hidden = F.silu(self.length_hidden(torch.cat([edge, self.kinds(kind)], -1)))
        logits: Tensor = self.length_head(hidden)
        return logits


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=module.in_features**-0.5 * 0.6)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
