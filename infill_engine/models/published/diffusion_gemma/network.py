"""DiffusionGemma's network: the library's text encoder and decoder with shared weights, and steps compiled on CUDA."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from infill_engine.models.kv_cache.layers import COLUMN_BLOCK, LayerMemory, layers_of, rounded_up, stacked
from infill_engine.models.runtime.cuda_graphs import CompiledStep, Compiler, Report, Sizes, Tell

T = TypeVar("T")


@dataclass(slots=True)
class _Layer:
    """Keys and values of one layer."""

    keys: Tensor
    values: Tensor


@dataclass(slots=True)
class _Read:
    """The cache interface that the decoder's layers use. They read it and never write."""

    layers: list[_Layer]
    is_compileable: bool = False


class Network(nn.Module):
    """The library's text encoder and decoder. They share all weights except one number per layer.

    The parameters are the decoder's and those numbers. After loading, `share` gives the encoder the decoder's own
    modules, including any replacements.
    """

    def __init__(self, config: Any, modeling: Any) -> None:
        super().__init__()
        self.text = config.text_config
        self.encoder = modeling.DiffusionGemmaEncoderTextModel(config.text_config)
        self.decoder = modeling.DiffusionGemmaDecoderModel(config)
        self._shared = list(_common_modules(self.encoder, self.decoder))
        for borrower, _, name in self._shared:
            borrower._modules[name] = None
        memory = [axes for kind in self.windows for axes in (kind, f"- - - {kind} -")]
        step = ["- tokens", "- tokens", "tokens tokens", "- tokens -", "-"]
        self._step = CompiledStep(self._compute, [*step, *memory], ["- tokens -"])

    def share(self) -> None:
        for borrower, owner, name in self._shared:
            borrower._modules[name] = owner._modules[name]

    @property
    def dtype(self) -> torch.dtype:
        weight: Tensor = self.decoder.embed_tokens.weight
        return weight.dtype

    @property
    def windows(self) -> dict[str, int | None]:
        """The attention window of each kind of layer in tokens, including the token itself; None for unlimited."""
        kinds = dict.fromkeys(self.text.layer_types)
        return {kind: self.text.sliding_window if kind == "sliding_attention" else None for kind in kinds}

    def states(
        self,
        ids: Tensor,
        places: Tensor,
        own: Tensor,
        seen: Mapping[str, Tensor],
        layers: Sequence[LayerMemory],
        told: Tensor | None,
    ) -> Tensor:
        """Return final states [T, D] of canvas tokens `ids` [T] at `places` [T], after a prompt's keys and values.

        `own` [T, T] is the mask among the canvas tokens, `seen` the mask of the prompt's columns by kind of layer.
        `told` [T, V] are the logits of the previous step, or None in the first one.
        """
        canvas = ids[None], places[None], own
        if self._step.ready:
            shape = 1, len(ids), self.text.vocab_size
            logits = torch.zeros(shape, dtype=self.dtype, device=ids.device) if told is None else told[None]
            is_told = torch.full((1,), told is not None, device=ids.device)
            memory = [each for kind in self.windows for each in (seen[kind], stacked(self._of_kind(kind, layers)))]
            if found := self._step(*canvas, logits, is_told, *memory):
                return found[0][0]
        return self._decoded(*canvas, seen, layers, None if told is None else told[None])[0]

    @property
    def compiled_runs(self) -> int:
        """The number of steps run by compiled code."""
        return self._step.runs

    def compile_steps(self, compiler: Compiler, shapes: Sequence[tuple[int, int]], report: Report, tell: Tell) -> bool:
        """Compile steps for these numbers of canvas tokens and prompt columns. See `CompilesSteps`.

        Experts with packed weights run one after another, as the tokens choose them, which no graph can do.
        """
        if self.decoder.config._experts_implementation == "eager":
            return False

        def example(sizes: Sizes) -> list[Tensor]:
            on = self.decoder.embed_tokens.weight.device
            tokens = sizes["tokens"]
            ids = torch.zeros(1, tokens, dtype=torch.int64, device=on)
            own = torch.ones(tokens, tokens, dtype=torch.bool, device=on)
            logits = torch.zeros(1, tokens, self.text.vocab_size, dtype=self.dtype, device=on)
            inputs = [ids, ids.clone(), own, logits, torch.ones(1, dtype=torch.bool, device=on)]
            for kind in self.windows:
                numbers = self._of_kind(kind, range(len(self.text.layer_types)))
                layer = self.text.per_layer_config[numbers[0]]
                shape = 2 * len(numbers), 1, layer.num_key_value_heads, sizes[kind], layer.head_dim
                inputs += [
                    torch.ones(sizes[kind], dtype=torch.bool, device=on),
                    torch.zeros(shape, dtype=self.dtype, device=on),
                ]
            return inputs

        def columns(most: int) -> Sizes:
            return {kind: min(most, rounded_up(window or most, COLUMN_BLOCK)) for kind, window in self.windows.items()}

        every = [{"tokens": tokens, **columns(most)} for tokens, most in shapes]
        self._step.prepare(compiler, every, example, report, tell)
        return self._step.ready

    def logits(self, states: Tensor) -> Tensor:
        """Return float32 logits [..., V] of states [..., D]."""
        cap = self.text.final_logit_softcapping
        logits: Tensor = nn.functional.linear(states, self.decoder.embed_tokens.weight).float()
        capped: Tensor = torch.tanh(logits / cap) * cap
        return capped

    def _compute(
        self, ids: Tensor, places: Tensor, own: Tensor, told: Tensor, is_told: Tensor, *memory: Tensor
    ) -> tuple[Tensor]:
        """Compute `states` from tensors only. `memory` holds, per kind of layer, the mask and all keys and values.

        `is_told` [1] is whether there was a previous step.
        """
        seen = dict(zip(self.windows, memory[0::2], strict=True))
        kept = {kind: iter(layers_of(each)) for kind, each in zip(self.windows, memory[1::2], strict=True)}
        layers = [next(kept[kind]) for kind in self.text.layer_types]
        return (self._decoded(ids, places, own, seen, layers, told, is_told),)

    def _decoded(
        self,
        ids: Tensor,
        places: Tensor,
        own: Tensor,
        seen: Mapping[str, Tensor],
        layers: Sequence[LayerMemory],
        told: Tensor | None,
        is_told: Tensor | None = None,
    ) -> Tensor:
        states: Tensor = self.decoder(
            decoder_input_ids=ids,
            decoder_position_ids=places,
            decoder_attention_mask={
                kind: torch.cat([columns.expand(len(own), -1), own], 1)[None, None] for kind, columns in seen.items()
            },
            self_conditioning_logits=told,
            self_conditioning_mask=is_told,
            past_key_values=_Read([_Layer(keys, values) for keys, values in layers]),
        ).last_hidden_state
        return states

    def _of_kind(self, kind: str, layers: Sequence[T]) -> list[T]:
        """Return the items of `layers` (one per layer of the network) that are of one kind."""
        return [layer for own, layer in zip(self.text.layer_types, layers, strict=True) if own == kind]


def _common_modules(one: nn.Module, other: nn.Module) -> Iterator[tuple[nn.Module, nn.Module, str]]:
    """Yield the modules of equal type at equal paths, each as its two parents and its name."""
    for name, module in other._modules.items():
        own = one._modules.get(name)
        if own is None or module is None:
            continue
        if type(own) is type(module) and not isinstance(own, nn.ModuleList):
            yield one, other, name
        else:
            yield from _common_modules(own, module)
