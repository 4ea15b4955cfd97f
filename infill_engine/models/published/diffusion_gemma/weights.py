"""DiffusionGemma's checkpoint: which tensors are read, which config values are accepted, and how tensors are named."""

import importlib
from dataclasses import replace

import torch

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint import files as files
from infill_engine.models.checkpoint.files import Checkpoint
from infill_engine.models.checkpoint.weights import load_weights
from infill_engine.models.published.diffusion_gemma.network import Network
from infill_engine.models.runtime.memory import require_memory
from infill_engine.models.stock.loader import BOOKKEEPING, building, explained

MODULE = "transformers.models.diffusion_gemma"
SIZES = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "sliding_window",
    "num_experts",
    "top_k_experts",
    "moe_intermediate_size",
)
KNOWN = {"tie_word_embeddings": (True,), "quantization_config": (None,)}
KNOWN_TEXT = {
    "use_bidirectional_attention": (None, "vision"),  # text is then read from left to right
    "hidden_activation": ("gelu_pytorch_tanh",),
    "attention_bias": (False,),
    "tie_word_embeddings": (True,),
}
ENCODER = "model.encoder.language_model."
IMAGES = ("model.encoder.vision_tower.", "model.encoder.embed_vision.")


def text_of(found: Checkpoint) -> Checkpoint:
    """Return the checkpoint without its image tensors, once its config has been checked. Raises ModelDamagedError."""
    folder, text = found.folder, found.config.get("text_config")
    if not isinstance(text, dict):
        raise ModelDamagedError(f"{folder}/config.json has no text_config; {files.REMEDY}")
    files.require_values(found.config, folder, KNOWN)
    files.require_values(text, folder, KNOWN_TEXT)
    files.require_positive(text, folder, SIZES)
    files.require_positive(found.config, folder, ("canvas_length",))
    return replace(found, tensors={name: each for name, each in found.tensors.items() if not _is_left_out(name)})


def load_network(checkpoint: Checkpoint, device: str, dtype: torch.dtype, stored: str) -> Network:
    """Check memory, names and shapes before reading any weights, then load the network.

    Raises ModelDamagedError, or ModelError if the network does not fit the device or a package is missing.
    """
    text = checkpoint.config["text_config"]
    files.require_layers(checkpoint, text)
    require_memory(checkpoint, device, dtype, stored)
    with explained(checkpoint, "DiffusionGemma"):
        modeling = importlib.import_module(f"{MODULE}.modeling_diffusion_gemma")
        configuration = importlib.import_module(f"{MODULE}.configuration_diffusion_gemma")
        fields = {name: value for name, value in text.items() if name not in BOOKKEEPING}
        config = configuration.DiffusionGemmaConfig(
            text_config=configuration.DiffusionGemmaTextConfig(**fields),
            canvas_length=checkpoint.config["canvas_length"],
        )
        config._attn_implementation = "sdpa"
        if stored:
            config._experts_implementation = "eager"  # the other implementations multiply a whole stack of experts
        with building(dtype):
            network = Network(config, modeling)
    load_weights(network, checkpoint, device, dtype, _tensor_name, stored=stored)
    network.share()
    return network


def _is_left_out(name: str) -> bool:
    """Return whether a tensor is for images or a duplicate under another name."""
    again = name == "lm_head.weight" or (name.startswith(ENCODER) and not name.endswith(".layer_scalar"))
    return again or name.startswith(IMAGES)


def _tensor_name(name: str) -> str:
    """Return the checkpoint's name of a parameter of `Network`."""
    part, _, rest = name.partition(".")
    return f"{ENCODER}{rest}" if part == "encoder" else f"model.{name}"
