"""Networks in their published dimensions with random weights, created on their device. No checkpoint is written.

The cost of a step does not depend on the weights. A made model uses a miniature tokenizer. It needs more tokens for a
text than the published one, but results are reported by tokens.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion, Qwen2Config, Qwen2ForCausalLM
from transformers.models.diffusion_gemma import modeling_diffusion_gemma

from bench.families import diffusion_gemma, masked
from infill_engine.errors import ModelTooLargeError
from infill_engine.models.base import CanvasModel
from infill_engine.models.published.diffusion_gemma.model import DiffusionGemmaModel
from infill_engine.models.published.diffusion_gemma.network import Network
from infill_engine.models.published.dream import DREAM
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel
from infill_engine.models.runtime.devices import free_memory
from infill_engine.models.runtime.memory import OVERHEAD
from infill_engine.models.stock.decoder import Backbone
from infill_engine.models.stock.loader import building
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings

SPREAD = 0.02  # standard deviation of matrix weights; all other weights are one
GEMMA_SHAPE = {
    "vocab_size": 262_144,
    "hidden_size": 2816,
    "intermediate_size": 2112,
    "num_hidden_layers": 30,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "num_global_key_value_heads": 2,
    "head_dim": 256,
    "global_head_dim": 512,
    "sliding_window": 1024,
    "num_experts": 128,
    "top_k_experts": 8,
    "moe_intermediate_size": 704,
    "use_bidirectional_attention": "vision",
}
GEMMA_SOURCE = (
    "as other projects give them for Gemma 4 26B-A4B; not read from DiffusionGemma's own config.json, whose published "
    "size is 25.82 B with what is for images"
)
DREAM_SHAPE = {
    "vocab_size": 152_064,
    "hidden_size": 3584,
    "intermediate_size": 18_944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "max_position_embeddings": 131_072,
    "rope_theta": 1_000_000.0,
    "tie_word_embeddings": False,
}
DREAM_SOURCE = (
    "those of Qwen2.5-7B, which Dream was made from; not read from Dream's own config.json, whose published size is "
    "7.62 B"
)
MINIATURE = "a miniature's: says nothing of any published model"


@dataclass(frozen=True, slots=True)
class Made:
    """A network on its device. `family` wraps it as the product does, with the given settings.

    `compiled_runs` counts the passes run by compiled code. `generate` is the library's own, for prompt tokens [1, P], a
    number of steps and a kind of cache; None if the library has none. It fills `canvas` slots at once.
    """

    name: str
    dimensions: str
    parameters: int
    device: str
    family: Callable[[ModelSettings], CanvasModel]
    compiled_runs: Callable[[], int]
    generate: Callable[[Tensor, int, str | None], Any] | None = None
    canvas: int = 0


def diffusion_gemma_like(device: str, dtype: torch.dtype, *, tiny: bool) -> Made:
    """Return DiffusionGemma with a minimal vision part. Raises ModelTooLargeError."""
    shape: dict[str, Any] = diffusion_gemma.TEXT_SHAPE if tiny else GEMMA_SHAPE
    canvas = 16 if tiny else 256
    library: Any = _made(partial(gemma_network, shape, canvas), "DiffusionGemma", device, dtype)
    with torch.device("meta"):
        network = Network(library.config, modeling_diffusion_gemma)
    network.encoder, network.decoder = library.model.encoder.language_model, library.model.decoder
    vocabulary = _vocabulary(diffusion_gemma.tokenizer(), shape["vocab_size"])

    def generate(prompt: Tensor, steps: int, cache: str | None) -> Any:
        return library.generate(
            prompt,
            max_new_tokens=canvas,
            max_denoising_steps=steps,
            t_min=0.4,
            t_max=0.8,
            pad_token_id=0,
            cache_implementation=cache,
        )

    return Made(
        "DiffusionGemma 26B-A4B" if not tiny else "DiffusionGemma, tiny",
        MINIATURE if tiny else GEMMA_SOURCE,
        _count(library),
        device,
        lambda settings: DiffusionGemmaModel(network, vocabulary, device, settings),
        lambda: network.compiled_runs,
        generate,
        canvas,
    )


def dream_like(device: str, dtype: torch.dtype, *, tiny: bool) -> Made:
    """Return Dream. Raises ModelTooLargeError."""
    shape: dict[str, Any] = masked.SHAPE if tiny else DREAM_SHAPE
    network = _made(partial(dream_network, shape), "Dream", device, dtype)
    backbone = Backbone(network, device)
    vocabulary = _vocabulary(masked.PUBLISHED["dream"].tokenizer, shape["vocab_size"])
    return Made(
        "Dream 7B" if not tiny else "Dream, tiny",
        MINIATURE if tiny else DREAM_SOURCE,
        _count(network),
        device,
        lambda settings: BidirectionalModel(DREAM, backbone, vocabulary, settings),
        lambda: backbone.compiled_runs,
    )


def gemma_network(shape: dict[str, Any], canvas: int) -> nn.Module:
    """Return the library's text network of `shape`."""
    config = DiffusionGemmaConfig(text_config=shape, vision_config=diffusion_gemma.IMAGE_SHAPE, canvas_length=canvas)
    config._attn_implementation = "sdpa"
    network: nn.Module = DiffusionGemmaForBlockDiffusion(config)
    return network


def dream_network(shape: dict[str, Any]) -> nn.Module:
    """Return the library's network of `shape`."""
    network: nn.Module = Qwen2ForCausalLM(Qwen2Config(**shape))
    return network


def _made(build: Callable[[], nn.Module], name: str, device: str, dtype: torch.dtype) -> nn.Module:
    """Return a network with random weights on `device`. It takes no memory before its weights are filled."""
    with building(dtype):
        network = build()
    needed, free = int(_count(network) * dtype.itemsize * OVERHEAD), free_memory(device)
    if needed > free:
        raise ModelTooLargeError(f"{name} needs about {needed / 1e9:.1f} GB and {device} has {free / 1e9:.1f} GB free")
    torch.manual_seed(0)
    made: dict[nn.Parameter, nn.Parameter] = {}
    for module in network.modules():
        for own, parameter in module._parameters.items():
            if parameter is not None:
                if parameter not in made:
                    made[parameter] = nn.Parameter(_random(parameter.shape, device, dtype), requires_grad=False)
                module._parameters[own] = made[parameter]
    return network.to(device).eval()


def _random(shape: torch.Size, device: str, dtype: torch.dtype) -> Tensor:
    empty = torch.empty(shape, device=device, dtype=dtype)
    return empty.normal_(0.0, SPREAD) if len(shape) > 1 else empty.fill_(1.0)


def _count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def _vocabulary(tokenizer: Tokenizer, width: int) -> TokenizerVocabulary:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tokenizer.json"
        tokenizer.save(str(path))
        return TokenizerVocabulary(path, width=width)
