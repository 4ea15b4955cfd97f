"""Tiny checkpoints of real architectures in the real file layout, created quickly."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import nn

TEXT = ["def area(radius):\n    return 3 * radius\n", "x = [1:ab:2]\nfor i in range(10):\n    print(i)\n", "[0:cd:7]\n"]
WORD = r"\d|[\r\n]|[a-z]| ?[^\s\d\w]|\s+| ?\w+"


def byte_level(specials: Sequence[str], unmarked: Sequence[str] = (), vocab: int = 300) -> Tokenizer:
    """Byte-level BPE with its special tokens at the end; `unmarked` are control tokens not marked as special."""
    tokenizer = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(WORD), "isolated")
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, letters])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in specials])
    tokenizer.add_tokens([AddedToken(name, special=False, normalized=False) for name in unmarked])
    return tokenizer


def pieces(specials: Sequence[str], unmarked: Sequence[str] = ()) -> Tokenizer:
    """BPE over characters with byte fallback, like converted SentencePiece models; special tokens at the front."""
    trained = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    trained.normalizer = normalizers.Replace(" ", "▁")
    trained.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), "isolated")
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>"], show_progress=False)
    trained.train_from_iterator(TEXT, trainer)
    definition = json.loads(trained.to_str())
    names = [*specials, *unmarked, *(f"<0x{byte:02X}>" for byte in range(256)), *definition["model"]["vocab"]]
    definition["model"]["vocab"] = {name: number for number, name in enumerate(dict.fromkeys(names))}
    definition["added_tokens"] = []
    tokenizer = Tokenizer.from_str(json.dumps(definition))
    tokenizer.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in specials])
    tokenizer.add_tokens([AddedToken(name, special=False, normalized=False) for name in unmarked])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def write(
    folder: Path, config: Mapping[str, Any], weights: nn.Module | Mapping[str, torch.Tensor], tokenizer: Tokenizer
) -> Path:
    """Write a folder as published: config.json, model.safetensors, tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = dict(weights.state_dict() if isinstance(weights, nn.Module) else weights)
    if config.get("tie_word_embeddings"):
        tensors.pop("lm_head.weight", None)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(dict(config)))
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def ids_of(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the tokens of a text, none of them special."""
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


def special_ids(tokenizer: Tokenizer, names: Sequence[str]) -> list[int]:
    """Return the ids of tokens by their names, all of which must exist."""
    found = [token for name in names if (token := tokenizer.token_to_id(name)) is not None]
    assert len(found) == len(names)
    return found


def everything(ids: torch.Tensor) -> torch.Tensor:
    """Return a mask in which every token sees every other, [B, 1, T, T]."""
    return torch.ones(len(ids), 1, ids.shape[1], ids.shape[1], dtype=torch.bool)


def backwards_only(ids: torch.Tensor) -> torch.Tensor:
    """Return a mask in which every token sees itself and those before it, [B, 1, T, T]."""
    return everything(ids).tril()
