"""A stock decoder of the transformers library, used as a function: tokens, places and a mask in, states out.

The library's class computes the layers, and nothing else of it is used: which token sees which, where each stands, what
is remembered and which states become logits is decided here and in the families. So one class serves masked diffusion
(everything sees everything) and autoregression alike, and no code of a checkpoint is needed.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from infill_engine.errors import ModelDamagedError, ModelError
from infill_engine.models import checkpoint as files
from infill_engine.models.checkpoint import Checkpoint
from infill_engine.models.compiled import CompiledStep, Compiler, Report, Sizes, Tell
from infill_engine.models.folder import name_of

LayerMemory = tuple[Tensor, Tensor]  # keys and values of one layer, [B, H, T, hd] each

COLUMN_BLOCK = 32  # columns of a context are rounded up to this, slots to SLOT_BLOCK: few shapes, few kernels
SLOT_BLOCK = 8

SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
COMPUTES = {"quantization_config": (None,), "final_logit_softcapping": (None,)}
BOOKKEEPING = ("auto_map", "architectures", "model_type", "dtype", "torch_dtype", "transformers_version")


def same(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config.json whose fields are already those of the library's class."""
    return dict(config)


@dataclass(frozen=True, slots=True)
class Stock:
    """Which class of the library computes a checkpoint, and how the checkpoint's names translate into it.

    `module` is that of `transformers.models`, `name` the class's without `ForCausalLM`. `fields` turns config.json into
    the class's fields; `tensor` a parameter's name into the checkpoint's; `known` has the values that fields of
    config.json may have.
    """

    module: str
    name: str
    fields: Callable[[Mapping[str, Any]], dict[str, Any]] = same
    tensor: Callable[[str], str] = str
    known: Mapping[str, Sequence[Any]] = field(default_factory=dict)


class Remembered:
    """Keys and values that grow at their end. Speaks what the library's attention layers ask of a cache."""

    def __init__(self, layers: Sequence[LayerMemory] = ()) -> None:
        self._layers = list(layers)
        self._added: Tensor | None = None

    @property
    def layers(self) -> list[LayerMemory]:
        """Keys and values of every layer, [B, H, S, hd] each."""
        if self._added is not None:
            added, self._added = layers_of(self._added), None
            for layer, (keys, values) in enumerate(added):
                self.update(keys, values, layer)
        return self._layers

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> LayerMemory:
        """All keys and values of `layer`, those just computed last."""
        if layer < len(self._layers):
            old = self._layers[layer]
            self._layers[layer] = torch.cat([old[0], keys], 2), torch.cat([old[1], values], 2)
        else:
            self._layers.append((keys, values))
        return self._layers[layer]

    def add(self, kept: Tensor) -> None:
        """Takes the keys and values [2L, B, H, T, hd] of further tokens; they are joined when `layers` is read."""
        self._added = kept

    def stacked(self) -> Tensor:
        """All keys and values, [2L, B, H, S, hd]."""
        return stacked(self.layers)

    def sight(self, visible: Tensor) -> tuple[Tensor, Tensor]:
        """Of `visible` [B, T, S + T] the part about what is kept, and that about the tokens themselves."""
        new = visible.shape[1]
        return visible[:, :, :-new], visible[:, :, -new:]


class Placed:
    """Keys and values in columns of a fixed size, written where `columns` [B, T] says; also a cache for attention.

    `kept` is [2L, B, H, S, hd]. What a column held before is overwritten.
    """

    def __init__(self, kept: Tensor) -> None:
        self.layers = layers_of(kept)
        self.columns: Tensor | None = None
        self._kept = kept

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: Any, **__: Any) -> LayerMemory:
        """All keys and values of `layer`, those just computed in their columns."""
        assert self.columns is not None
        place = self.columns[:, None, :, None].expand(-1, keys.shape[1], -1, keys.shape[3])
        old_keys, old_values = self.layers[layer]
        old_keys.scatter_(2, place, keys)
        old_values.scatter_(2, place, values)
        return old_keys, old_values

    def add(self, kept: Tensor) -> None:
        """Writes the keys and values [2L, B, H, T, hd] of tokens into their columns."""
        assert self.columns is not None
        self._kept.scatter_(3, self.columns[None, :, None, :, None].expand_as(kept), kept)

    def stacked(self) -> Tensor:
        """All keys and values, [2L, B, H, S, hd]."""
        return self._kept

    def sight(self, visible: Tensor) -> tuple[Tensor, Tensor]:
        """Of `visible` [B, T, S] the part about columns that stay as they are, and that about the tokens themselves."""
        assert self.columns is not None
        written = self.columns[:, None].expand(-1, visible.shape[1], -1)
        return visible.scatter(2, written, value=False), visible.gather(2, written)


def stacked(layers: Sequence[LayerMemory]) -> Tensor:
    """Keys and values [B, H, S, hd] of L layers as one tensor, [2L, B, H, S, hd]."""
    return torch.stack([each for layer in layers for each in layer])


def layers_of(kept: Tensor) -> list[LayerMemory]:
    """Keys and values [2L, B, H, S, hd], layer after layer."""
    return list(zip(kept[0::2].unbind(), kept[1::2].unbind(), strict=True))


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
        """Final states [B, T, D] of tokens `ids` [B, T] that stand at `places` [B, T].

        `visible` [B, 1, T, S] tells which of the S keys a token sees: those of `memory` once these tokens are in it,
        or without one the tokens themselves. Every token must see something.
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
        """How many passes were computed by what was compiled."""
        return self._alone.runs + self._behind.runs

    def compile_steps(
        self, compiler: Compiler, alone: Sequence[Sizes], behind: Sequence[Sizes], report: Report, tell: Tell
    ) -> bool:
        """Prepares passes without a memory in the shapes `alone`, and such with one in the shapes `behind`.

        The axes are "rows", "tokens" and, of a memory, "columns". See `CompilesSteps`.
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
        """The states, and the keys and values [2L, B, H, T, hd] of the tokens."""
        memory = Remembered(layers_of(kept))
        visible = sighted(torch.cat([seen, own], 2))[:, None]
        states = self._computed(ids, places, visible, memory)
        return states, stacked(memory.layers)[:, :, :, kept.shape[3] :]

    def logits(self, states: Tensor) -> Tensor:
        """Logits [..., V] in float32 of states [..., D]."""
        logits: Tensor = self._network.lm_head(states)
        return logits.float()

    def moved(self, keys: Tensor, by: int) -> Tensor:
        """Keys [B, H, T, hd] as if their tokens stood `by` places further on: by RoPE, whose rotations add up.

        As long as a text is no longer than those the network was trained on, also where its rotations would depend
        on the text's length beyond that.
        """
        rotary, exact = self._network.model.rotary_emb, keys.float()
        cos, sin = rotary(exact, torch.tensor([[by]], device=keys.device))
        half = keys.shape[-1] // 2
        turned = torch.cat([-exact[..., half:], exact[..., :half]], -1)
        # Some kinds scale what they rotate; these keys have been.
        moved: Tensor = (exact * cos + turned * sin) / rotary.attention_scaling
        return moved.to(keys.dtype)

    def empty_memory(self, rows: int, columns: int) -> Tensor:
        """Keys and values of zero for every layer, [2L, rows, H, columns, hd]."""
        config = self._network.config
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        shape = (2 * config.num_hidden_layers, rows, heads, columns, size)
        return torch.zeros(shape, dtype=self.dtype, device=self.device)


def sighted(visible: Tensor) -> Tensor:
    """`visible` [..., T, S + T], in which a token that sees nothing sees itself: so what pads stays finite."""
    tokens, keys = visible.shape[-2:]
    itself = torch.ones(tokens, keys, dtype=torch.bool, device=visible.device).tril(keys - tokens).triu(keys - tokens)
    return visible | (itself & ~visible.any(-1, keepdim=True))


def rounded_up(number: int, block: int) -> int:
    return -(-number // block) * block


def joined_ends(logits: Tensor, end: int, others: Sequence[int]) -> Tensor:
    """Logits [W, V] in which `end` has the probability of all tokens that end a text."""
    if others:
        logits[:, end] = torch.logsumexp(logits[:, [end, *others]], -1)
    return logits


def load_backbone(checkpoint: Checkpoint, stock: Stock, device: str, dtype: torch.dtype, stored: str = "") -> Backbone:
    """Checks config.json, then memory, then names and shapes, and only then reads the weights.

    Raises ModelDamagedError, or ModelError where the network does not fit the device or a package is missing.
    """
    folder = checkpoint.folder
    fields = stock.fields(checkpoint.config)
    files.require_values(checkpoint.config, folder, COMPUTES | dict(stock.known))
    files.require_positive(fields, folder, SIZES)
    files.require_memory(checkpoint, device, dtype, stored)
    network = _empty_network(stock, fields, dtype, checkpoint)
    tied = network._tied_weights_keys if getattr(network.config, "tie_word_embeddings", False) else {}
    files.load_weights(network, checkpoint, device, dtype, stock.tensor, tied, stored=stored)
    return Backbone(network, device)


def _empty_network(stock: Stock, fields: Mapping[str, Any], dtype: torch.dtype, checkpoint: Checkpoint) -> Any:
    with explained(checkpoint, stock.name):
        modeling = importlib.import_module(f"transformers.models.{stock.module}.modeling_{stock.module}")
        configuration = importlib.import_module(f"transformers.models.{stock.module}.configuration_{stock.module}")
        config_class = getattr(configuration, stock.name + "Config")
        config = config_class(**{name: value for name, value in fields.items() if name not in BOOKKEEPING})
        config._attn_implementation = "sdpa"
        with building(dtype):
            return getattr(modeling, stock.name + "ForCausalLM")(config)


@contextmanager
def explained(checkpoint: Checkpoint, name: str) -> Iterator[None]:
    """While it lasts, what the library raises becomes a ModelError that says what to do.

    One of a package that is missing, or a ModelDamagedError that says that config.json describes no `name` network.
    """
    try:
        yield
    except ImportError as error:
        raise ModelError(
            f"{name_of(checkpoint.folder)} needs the transformers library ({error}); install it with "
            "`pip install 'infill-ls[models]'`, or use the default model"
        ) from error
    except Exception as error:  # the library's own checks raise plain ones
        raise ModelDamagedError(
            f"{checkpoint.folder}/config.json does not describe a {name} network ({error}); {files.REMEDY}"
        ) from error


@contextmanager
def building(dtype: torch.dtype) -> Iterator[None]:
    """While it lasts, new parameters are in `dtype`, and as they come: others will replace them."""
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        with files.uninitialised():
            yield
    finally:
        torch.set_default_dtype(default)
