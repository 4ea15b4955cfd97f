"""DiffusionGemma's network: the library's text encoder and decoder with shared weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from infill_engine.models.stock.decoder import LayerMemory


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
        layers: Sequence[LayerMemory],
        told: Tensor | None,
    ) -> Tensor:
        """Return final states [T, D] of canvas tokens `ids` [T] at `places` [T], after a prompt's keys and values.

        `own` [T, T] is the mask among the canvas tokens, which see all of the prompt. `told` [T, V] are the logits of
        the previous step, or None in the first one.
        """
        widths = {kind: keys.shape[2] for kind, (keys, _) in zip(self.text.layer_types, layers, strict=True)}
        states: Tensor = self.decoder(
            decoder_input_ids=ids[None],
            decoder_position_ids=places[None],
            decoder_attention_mask={
                kind: torch.cat([own.new_ones(len(own), width), own], 1)[None, None] for kind, width in widths.items()
            },
            self_conditioning_logits=None if told is None else told[None],
            past_key_values=_Read([_Layer(keys, values) for keys, values in layers]),
        ).last_hidden_state[0]
        return states

    def logits(self, states: Tensor) -> Tensor:
        """Return float32 logits [..., V] of states [..., D]."""
        cap = self.text.final_logit_softcapping
        logits: Tensor = nn.functional.linear(states, self.decoder.embed_tokens.weight).float()
        capped: Tensor = torch.tanh(logits / cap) * cap
        return capped


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
