"""The tokenizer in the fields of a GGUF file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, models

from infill_engine.errors import ModelDamagedError
from infill_engine.models.tokenizer import qwen_tokenizer
from infill_engine.models.trunk.files.gguf_header import ARCHITECTURE, TOKENS

KINDS, MERGES = "tokenizer.ggml.token_type", "tokenizer.ggml.merges"
MODEL, PIECES = "tokenizer.ggml.model", "tokenizer.ggml.pre"
NORMAL, CONTROL, OWN = 1, 3, 4  # kinds of tokens; others are never used


def tokenizer_of(path: Path, fields: Mapping[str, Any]) -> Tokenizer:
    """Return the tokenizer in a file's fields. Raises ModelDamagedError if it is not Qwen2's kind."""
    kind = (fields.get(MODEL), fields.get(PIECES))
    if kind != ("gpt2", ARCHITECTURE):
        raise ModelDamagedError(
            f"{path} has the tokenizer {kind[1] or kind[0]!r}, but only {ARCHITECTURE}'s can be used; use a "
            "Qwen2.5-Coder model"
        )
    try:
        named = list(zip(fields[TOKENS], fields[KINDS], strict=True))
        merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in fields[MERGES])]
        vocabulary = {token: number for number, (token, kind) in enumerate(named) if kind in (NORMAL, CONTROL, OWN)}
        tokenizer = qwen_tokenizer(models.BPE(vocabulary, merges))
    except Exception as error:  # the library raises plain exceptions
        raise ModelDamagedError(f"{path} has a tokenizer that cannot be read ({error}); fetch it again") from error
    tokenizer.add_tokens(
        [
            AddedToken(token, special=kind == CONTROL, normalized=False)
            for token, kind in named
            if kind in (CONTROL, OWN)
        ]
    )
    return tokenizer
