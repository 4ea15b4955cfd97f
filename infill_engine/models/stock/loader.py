"""Selects the class of the transformers library for a checkpoint, and loads the checkpoint's weights into it."""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from infill_engine.errors import ModelDamagedError, ModelError
from infill_engine.models.checkpoint import files as files
from infill_engine.models.checkpoint.files import Checkpoint
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.checkpoint.weights import Uninitialised, load_weights
from infill_engine.models.runtime.extras import MODELS, installing
from infill_engine.models.runtime.memory import require_memory
from infill_engine.models.stock.decoder import Backbone
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings

SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
COMPUTES = {"quantization_config": (None,), "final_logit_softcapping": (None,)}
BOOKKEEPING = ("auto_map", "architectures", "model_type", "dtype", "torch_dtype", "transformers_version")


@dataclass(frozen=True, slots=True)
class Stock:
    """The library's class that computes a checkpoint, and how the checkpoint's names translate to it.

    `module` is a module of `transformers.models`, `name` the class's name without `ForCausalLM`. `fields` turns
    config.json into the class's fields; `tensor` turns a parameter's name into the checkpoint's; `known` has the
    supported values of fields of config.json.
    """

    module: str
    name: str
    fields: Callable[[Mapping[str, Any]], dict[str, Any]] = dict
    tensor: Callable[[str], str] = str
    known: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Opened:
    """A checkpoint whose weights have not been read, its tokenizer, and how the model is to be loaded."""

    checkpoint: Checkpoint
    vocabulary: TokenizerVocabulary
    device: str
    dtype: torch.dtype
    settings: ModelSettings

    @classmethod
    def of(cls, folder: Path, device: str, dtype: torch.dtype, settings: ModelSettings) -> "Opened":
        """Open a model's folder. Raises ModelNotFoundError or ModelDamagedError."""
        checkpoint = files.open_checkpoint(folder)
        vocabulary = TokenizerVocabulary(folder / "tokenizer.json", width=checkpoint.width)
        return cls(checkpoint, vocabulary, device, dtype, settings)


def load_backbone(opened: Opened, stock: Stock) -> Backbone:
    """Check config.json, then memory, then names and shapes, and only then read the weights.

    Raises ModelDamagedError, or ModelError if the network does not fit the device or a package is missing.
    """
    checkpoint, device, dtype = opened.checkpoint, opened.device, opened.dtype
    folder, stored = checkpoint.folder, opened.settings.stored
    fields = stock.fields(checkpoint.config)
    files.require_values(checkpoint.config, folder, COMPUTES | dict(stock.known))
    files.require_positive(fields, folder, SIZES)
    files.require_layers(checkpoint, fields)
    require_memory(checkpoint, device, dtype, stored)
    network = _empty_network(stock, fields, dtype, checkpoint)
    tied = network._tied_weights_keys if getattr(network.config, "tie_word_embeddings", False) else {}
    load_weights(network, checkpoint, device, dtype, stock.tensor, tied, stored=stored)
    return Backbone(network, device)


def _empty_network(stock: Stock, fields: Mapping[str, Any], dtype: torch.dtype, checkpoint: Checkpoint) -> Any:
    with _explained(checkpoint, stock.name):
        modeling = importlib.import_module(f"transformers.models.{stock.module}.modeling_{stock.module}")
        configuration = importlib.import_module(f"transformers.models.{stock.module}.configuration_{stock.module}")
        config_class = getattr(configuration, stock.name + "Config")
        config = config_class(**{name: value for name, value in fields.items() if name not in BOOKKEEPING})
        config._attn_implementation = "sdpa"
        with _building(dtype):
            return getattr(modeling, stock.name + "ForCausalLM")(config)


@contextmanager
def _explained(checkpoint: Checkpoint, name: str) -> Iterator[None]:
    """Inside the context, the library's errors become a ModelError that says what to do.

    It names a missing package, or is a ModelDamagedError which says that config.json describes no `name` network.
    """
    try:
        yield
    except ImportError as error:
        raise ModelError(
            f"{name_of(checkpoint.folder)} needs the transformers library ({error}): run {installing(MODELS)}, or use "
            "the default model"
        ) from error
    except Exception as error:  # the library's own checks raise plain exceptions
        raise ModelDamagedError(
            f"{checkpoint.folder}/config.json does not describe a {name} network ({error}); {files.REMEDY}"
        ) from error


@contextmanager
def _building(dtype: torch.dtype) -> Iterator[None]:
    """Inside the context, new parameters are in `dtype` and uninitialised, because they will be replaced."""
    default = torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        with Uninitialised():
            yield
    finally:
        torch.set_default_dtype(default)
