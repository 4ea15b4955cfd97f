"""DiffusionGemma in miniature; its reference is the library's own forward pass on an explicit prompt and canvas."""

import json
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import DiffusionGemmaConfig, DiffusionGemmaForBlockDiffusion, DynamicCache

from bench.families.tiny import ids_of, pieces, special_ids
from infill_engine.models.published.diffusion_gemma.model import ASK, CLAMPED

SPECIALS = ["<pad>", "<eos>", "<bos>", "<|turn>", "<turn|>", "<|channel>", "<channel|>"]
PAD, EOS, BOS, TURN, TURN_END, CHANNEL, CHANNEL_END = range(len(SPECIALS))
VOCABULARY = 320
TEXT_SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "layer_types": ["sliding_attention", "full_attention"],
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_global_key_value_heads": 1,
    "head_dim": 16,
    "global_head_dim": 32,
    "sliding_window": 32,  # shorter than any prompt
    "num_experts": 4,
    "top_k_experts": 2,
    "moe_intermediate_size": 32,
    "max_position_embeddings": 4096,
    "use_bidirectional_attention": "vision",
}
IMAGE_SHAPE: dict[str, Any] = {
    "model_type": "gemma4_vision",
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "position_embedding_size": 16,
}


def tokenizer() -> Tokenizer:
    made = pieces(SPECIALS)
    assert special_ids(made, SPECIALS) == list(range(len(SPECIALS)))
    return made


def new_network(initial: float = 0.2, **text: Any) -> nn.Module:
    """A random network of the library's class; its text part has the shape `TEXT_SHAPE`, overridden by `text`."""
    torch.manual_seed(0)
    config = DiffusionGemmaConfig(
        text_config=TEXT_SHAPE | {"initializer_range": initial} | text,
        vision_config=IMAGE_SHAPE,
        initializer_range=initial,
        canvas_length=64,
    )
    network: nn.Module = DiffusionGemmaForBlockDiffusion(config)
    return network.eval().requires_grad_(False)


def scatter(network: Any) -> None:
    """Vary values that are 1 initially: norms, and the scalars that encoder and decoder each have."""
    for name, value in [*network.named_parameters(), *network.named_buffers()]:
        if value.ndim == 1 and "inv_freq" not in name:
            value.mul_(torch.empty_like(value).uniform_(0.7, 1.3))


def publish(network: Any, folder: Path) -> Path:
    """Write a network in the model's published file layout."""
    network.save_pretrained(folder)
    tokenizer().save(str(folder / "tokenizer.json"))
    settings = {"t_max": 0.8, "t_min": 0.4, "eos_token_id": [EOS, TURN_END]}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    return folder


def prompt_of(text: tuple[str, str]) -> tuple[list[int], list[int]]:
    """Return the tokens of the prompt for a hole between two texts, and those that are given on the canvas after it."""
    made = tokenizer()
    before, behind = (ids_of(made, side) for side in text)
    asked = [BOS, TURN, *ids_of(made, "user\n" + ASK), *behind, *ids_of(made, "\n```"), TURN_END, *ids_of(made, "\n")]
    thought = [TURN, *ids_of(made, "model\n"), CHANNEL, *ids_of(made, "thought\n"), CHANNEL_END]
    given = [*behind, *ids_of(made, "\n```"), TURN_END][:CLAMPED]
    return [*asked, *thought, *ids_of(made, "```\n"), *before], given


def reference(network: Any, row: list[int], text: tuple[str, str], told: Tensor | None = None) -> Tensor:
    """Return logits of every slot of `row`; `told` [len(row), V] are those of the step before, if there was one."""
    prompt, given = prompt_of(text)
    cache = DynamicCache(config=network.config.text_config)
    network.model.encoder(input_ids=torch.tensor([prompt]), past_key_values=cache)
    if told is not None:
        certain = torch.full((len(given), told.shape[1]), -1e9).scatter(1, torch.tensor(given)[:, None], 0.0)
        told = torch.cat([told, certain])[None]
    canvas = torch.tensor([[*row, *given]])
    out = network(past_key_values=cache, decoder_input_ids=canvas, self_conditioning_logits=told)
    found: Tensor = out.logits[0, : len(row)].float()
    found[:, TURN_END] = torch.logsumexp(found[:, [TURN_END, EOS]], -1)  # both end a text
    return found
