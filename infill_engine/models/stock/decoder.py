"""A stock decoder of the transformers library, used as a function from tokens, positions and a mask to states.

Only the layers of the library's class are used. This module and the families decide which token sees which, the
positions, what is remembered and which states become logits. So one class serves masked diffusion (everything sees
everything) and autoregression, and no code of a checkpoint is needed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from infill_engine.models.kv_cache.layers import Placed, Remembered, layers_of, stacked
from infill_engine.models.runtime.cuda_graphs import CompiledStep, Compiler, Report, Sizes, Tell


class Backbone:
    """A loaded network on its device."""

    def __init__(self, network: Any, device: str) -> None:
        self._network = network
        self.device = device
        self.vocabulary = int(self._network.config.vocab_size)
        self.dtype = next(network.parameters()).dtype
        new, old = ("rows tokens", "rows tokens", "rows tokens tokens"), ("rows tokens columns", "- rows - columns -")
        self._alone = CompiledStep(self._compute_alone, new, ["rows tokens -"])
        self._behind = CompiledStep(self._compute_behind, (*new, *old), ["rows tokens -", "- rows - tokens -"])

    def states(self, ids: Tensor, places: Tensor, visible: Tensor, memory: Remembered | Placed | None = None) -> Tensor:
        """Final states [B, T, D] of tokens `ids` [B, T] at positions `places` [B, T].

        `visible` [B, 1, T, S] tells which of the S keys a token sees: those of `memory` once these tokens are in it,
        or without a memory the tokens themselves. Every token must see at least one key.
        """
        if memory is None and self._alone.ready:
            if found := self._alone(ids, places, visible[:, 0]):
                return found[0]
        elif memory is not None and self._behind.ready and memory.layers:
            seen, own = memory.sight(visible[:, 0])
            if found := self._behind(ids, places, own, seen, memory.stacked()):
                memory.add(found[1])
                return found[0]
        return self._computed(ids, places, visible, memory)

    @property
    def compiled_runs(self) -> int:
        """How many passes used compiled code."""
        return self._alone.runs + self._behind.runs

    def compile_steps(
        self, compiler: Compiler, alone: Sequence[Sizes], behind: Sequence[Sizes], report: Report, tell: Tell
    ) -> bool:
        """Prepare passes without a memory in the shapes `alone`, and passes with one in the shapes `behind`.

        The axes are "rows", "tokens" and, for a memory, "columns". See `CompilesSteps`.
        """

        def example(sizes: Sizes) -> list[Tensor]:
            rows, tokens = sizes["rows"], sizes["tokens"]
            ids = torch.zeros(rows, tokens, dtype=torch.int64, device=self.device)
            inputs = [ids, ids.clone(), torch.ones(rows, tokens, tokens, dtype=torch.bool, device=self.device)]
            if columns := sizes.get("columns"):
                seen = torch.ones(rows, tokens, columns, dtype=torch.bool, device=self.device)
                inputs += [seen, self.empty_memory(rows, columns)]
            return inputs

        self._alone.prepare(compiler, alone, example, report, tell)
        self._behind.prepare(compiler, behind, example, report, tell)
        return self._alone.ready or self._behind.ready

    def _computed(self, ids: Tensor, places: Tensor, visible: Tensor, memory: Remembered | Placed | None) -> Tensor:
        states: Tensor = self._network.model(
            input_ids=ids, position_ids=places, attention_mask=visible, past_key_values=memory, use_cache=False
        ).last_hidden_state
        return states

    def _compute_alone(self, ids: Tensor, places: Tensor, own: Tensor) -> tuple[Tensor]:
        return (self._computed(ids, places, sighted(own)[:, None], None),)

    def _compute_behind(
        self, ids: Tensor, places: Tensor, own: Tensor, seen: Tensor, kept: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the states, and the keys and values [2L, B, H, T, hd] of the tokens."""
        memory = Remembered(layers_of(kept))
        visible = sighted(torch.cat([seen, own], 2))[:, None]
        states = self._computed(ids, places, visible, memory)
        return states, stacked(memory.layers)[:, :, :, kept.shape[3] :]

    def logits(self, states: Tensor) -> Tensor:
        """Return logits [..., V] in float32 of states [..., D]."""
        logits: Tensor = self._network.lm_head(states)
        return logits.float()

    def moved(self, keys: Tensor, by: int) -> Tensor:
        """Return keys [B, H, T, hd] as if their tokens were `by` positions further on, by RoPE, whose rotations add up.

        This also holds for rotations that depend on the text's length, as long as the text is no longer than those the
        network was trained on.
        """
        rotary, exact = self._network.model.rotary_emb, keys.float()
        cos, sin = rotary(exact, torch.tensor([[by]], device=keys.device))
        half = keys.shape[-1] // 2
        turned = torch.cat([-exact[..., half:], exact[..., :half]], -1)
        # Some kinds of RoPE scale what they rotate; these keys are already scaled.
        moved: Tensor = (exact * cos + turned * sin) / rotary.attention_scaling
        return moved.to(keys.dtype)

    def empty_memory(self, rows: int, columns: int) -> Tensor:
        """All-zero keys and values for every layer, [2L, rows, H, columns, hd]."""
        config = self._network.config
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (2 * config.num_hidden_layers, rows, heads, columns, size)
        return torch.zeros(shape, dtype=self.dtype, device=self.device)


def sighted(visible: Tensor) -> Tensor:
    """`visible` [..., T, S + T], in which a token that sees nothing sees itself, so that padding stays finite."""
    tokens, keys = visible.shape[-2:]
    itself = torch.ones(tokens, keys, dtype=torch.bool, device=visible.device).tril(keys - tokens).triu(keys - tokens)
    return visible | (itself & ~visible.any(-1, keepdim=True))


def joined_ends(logits: Tensor, end: int, others: Sequence[int]) -> Tensor:
    """Return logits [W, V] in which `end` has the total probability of all tokens that end a text."""
    if others:
        logits[:, end] = torch.logsumexp(logits[:, [end, *others]], -1)
    return logits
