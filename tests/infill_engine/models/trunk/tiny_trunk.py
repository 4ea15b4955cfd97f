"""A trunk in miniature with random weights, over the real tokenizer's kind of vocabulary."""

import json
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from infill_engine.models.tokenizer import _LETTERS, QWEN_PIECE
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.backends.torch_products import FloatProducts
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.network import Layer, Network
from infill_engine.models.trunk.prompt import TrunkVocabulary

SPECIALS = ("<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_sep|>")
WORDS = (
    "return",
    " return",
    ".width",
    ".height",
    "self",
    " self",
    "width",
    "height",
    "   ",
    "):",
    ":\n",
    "def",
    " def",
)


def write_tokenizer(folder: Path) -> Path:
    """A byte-level tokenizer with every byte, a few words, and the special tokens."""
    to_letter = {byte: chr(letter) for letter, byte in _LETTERS.items()}
    vocabulary = {to_letter[byte]: byte for byte in range(256)}
    merges = []
    for word in WORDS:
        letters = "".join(to_letter[byte] for byte in word.encode())
        for end in range(2, len(letters) + 1):
            if letters[:end] not in vocabulary:
                vocabulary[letters[:end]] = len(vocabulary)
                merges.append((letters[: end - 1], letters[end - 1]))
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    cut = pre_tokenizers.Split(Regex(QWEN_PIECE), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIALS))
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    assert json.loads(path.read_text())["model"]["type"] == "BPE"
    return path


def tiny_config(vocabulary: int) -> TrunkConfig:
    return TrunkConfig(vocabulary, layers=2, dim=32, heads=4, kv_heads=2, head_dim=8, hidden=48)


def random_weights(config: TrunkConfig, seed: int = 0) -> dict[str, Tensor]:
    """Random matrices and vectors by the names that Qwen2 has for them in the transformers library."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator) / shape[-1] ** 0.5

    weights = {
        "model.embed_tokens.weight": drawn(config.vocabulary, config.dim) * 4,
        "model.norm.weight": 1 + drawn(config.dim),
    }
    for layer in range(config.layers):
        prefix = f"model.layers.{layer}."
        sizes = {"q": config.query_size, "k": config.kv_size, "v": config.kv_size}
        for name, size in sizes.items():
            weights[f"{prefix}self_attn.{name}_proj.weight"] = drawn(size, config.dim)
            weights[f"{prefix}self_attn.{name}_proj.bias"] = drawn(size)
        weights[f"{prefix}self_attn.o_proj.weight"] = drawn(config.dim, config.query_size)
        weights[f"{prefix}mlp.gate_proj.weight"] = drawn(config.hidden, config.dim)
        weights[f"{prefix}mlp.up_proj.weight"] = drawn(config.hidden, config.dim)
        weights[f"{prefix}mlp.down_proj.weight"] = drawn(config.dim, config.hidden)
        weights[f"{prefix}input_layernorm.weight"] = 1 + drawn(config.dim)
        weights[f"{prefix}post_attention_layernorm.weight"] = 1 + drawn(config.dim)
    return weights


def network_of(config: TrunkConfig, weights: dict[str, Tensor]) -> Network:
    """The network of such weights, in float32."""
    make = FloatProducts("cpu", torch.float32)

    def joined(prefix: str, names: tuple[str, ...], kind: str) -> Tensor:
        return torch.cat([weights[f"{prefix}{name}_proj.{kind}"] for name in names])

    layers = []
    for number in range(config.layers):
        prefix = f"model.layers.{number}."
        attention, mlp = f"{prefix}self_attn.", f"{prefix}mlp."
        layers.append(
            Layer(
                weights[f"{prefix}input_layernorm.weight"],
                weights[f"{prefix}post_attention_layernorm.weight"],
                make.of(joined(attention, ("q", "k", "v"), "weight"), joined(attention, ("q", "k", "v"), "bias")),
                make.of(weights[f"{attention}o_proj.weight"], None),
                make.of(joined(mlp, ("gate", "up"), "weight"), None),
                make.of(weights[f"{mlp}down_proj.weight"], None),
            )
        )
    embedding = weights["model.embed_tokens.weight"]
    return Network(config, layers, weights["model.norm.weight"], lambda ids: embedding[ids], make.of(embedding, None))


def tiny_model(folder: Path, seed: int = 0) -> TrunkModel:
    """A model with random weights."""
    vocabulary = TrunkVocabulary(write_tokenizer(folder))
    config = tiny_config(len(vocabulary))
    return TrunkModel(TorchBackend(network_of(config, random_weights(config, seed))), vocabulary)
