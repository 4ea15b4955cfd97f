"""A GGUF file of a Qwen2 model in miniature with random weights, and the plan for its shards."""

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quantize
from safetensors.numpy import save_file
from tiny_trunk import SPECIALS, write_tokenizer

from infill_engine.models.trunk.files.convert import INPUTS, Plan
from infill_engine.models.trunk.files.published_file import PublishedFile

LAYERS, DIM, HEADS, KV_HEADS, HIDDEN = 4, 64, 4, 2, 128
HEAD_DIM = DIM // HEADS
STORED = {"q": "abcd", "k": "ddcc", "v": "cccc", "o": "cdab", "gate": "bcba", "up": "aabb", "down": "bbbc"}
TOKENS = [f"token{number}" for number in range(60)] + ["<|endoftext|>", "<|fim_prefix|>"]
KEPT = ["token3", "token1", "token59", "<|fim_prefix|>"]
SHAPES = {
    "attn_q": (DIM, DIM),
    "attn_k": (KV_HEADS * HEAD_DIM, DIM),
    "attn_v": (KV_HEADS * HEAD_DIM, DIM),
    "attn_output": (DIM, DIM),
    "ffn_gate": (HIDDEN, DIM),
    "ffn_up": (HIDDEN, DIM),
    "ffn_down": (DIM, HIDDEN),
}
KINDS = {"<|": TokenType.CONTROL, "[P": TokenType.UNUSED}  # by how a token begins
Q5_0, Q8_0 = GGMLQuantizationType.Q5_0, GGMLQuantizationType.Q8_0


@dataclass(frozen=True)
class Written:
    """What else a file has: a tokenizer of some kind, and an input matrix that is the output or another one."""

    tokens: tuple[str, ...] = tuple(TOKENS)
    merges: tuple[str, ...] = ()
    pieces: str = ""
    tied: bool = False
    untied: bool = False


def coder(folder: Path, **changes: Any) -> Written:
    """The form of a published fill-in-the-middle model."""
    content = json.loads(write_tokenizer(folder).read_text())["model"]
    merges = tuple(" ".join(pair) for pair in content["merges"])
    tokens = (*sorted(content["vocab"], key=content["vocab"].__getitem__), *SPECIALS, "[PAD0]")
    return replace(Written(tokens, merges, "qwen2", tied=True), **changes)


def write_gguf(
    path: Path, *, architecture: str = "qwen2", seed: int = 0, name: str = "Tiny", form: Written = Written()
) -> PublishedFile:
    """Writes the file; what it is to be known by."""
    draw = np.random.default_rng(seed)
    writer = GGUFWriter(path, architecture)
    writer.add_name(name)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(DIM)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_token_list(form.tokens)
    if form.pieces:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(form.pieces)
        writer.add_token_merges(form.merges)
        writer.add_token_types([KINDS.get(token[:2], TokenType.NORMAL) for token in form.tokens])

    def add(tensor: str, shape: tuple[int, ...], kind: GGMLQuantizationType | None = None) -> None:
        values = (draw.standard_normal(shape) / 8).astype(np.float32)
        writer.add_tensor(tensor, values if kind is None else quantize(values, kind), raw_dtype=kind)

    if form.tied:
        output = (draw.standard_normal((len(form.tokens), DIM)) / 8).astype(np.float32)
        for tensor, kind in (("output.weight", Q8_0), ("token_embd.weight", Q5_0)):
            writer.add_tensor(tensor, quantize(output, kind), raw_dtype=kind)
    else:
        add("output.weight", (len(form.tokens), DIM), Q8_0)
    if form.untied:
        add("token_embd.weight", (len(form.tokens), DIM), Q8_0)
    add("output_norm.weight", (DIM,))
    for layer in range(LAYERS):
        for matrix, shape in SHAPES.items():
            add(f"blk.{layer}.{matrix}.weight", shape, Q8_0 if matrix == "attn_v" else Q5_0)
        for bias in ("attn_q", "attn_k", "attn_v"):
            add(f"blk.{layer}.{bias}.bias", SHAPES[bias][:1])
        for norm in ("attn_norm", "ffn_norm"):
            add(f"blk.{layer}.{norm}.weight", (DIM,))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return source_of(path)


def source_of(path: Path) -> PublishedFile:
    return PublishedFile(
        "some/tiny-GGUF", "tiny.gguf", path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()
    )


def write_plan(folder: Path, source: PublishedFile) -> Plan:
    """A tokenizer and the inputs' mean squares in `folder`, and the plan that uses them."""
    folder.mkdir(exist_ok=True)
    *plain, special = KEPT
    content = {
        "model": {"vocab": {token: number for number, token in enumerate(plain)}},
        "added_tokens": [{"id": len(plain), "content": special}],
    }
    (folder / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    draw = np.random.default_rng(1)
    widths = dict.fromkeys(INPUTS.values(), DIM) | {"down": HIDDEN}
    importance = {
        f"layers.{layer}.{name}": draw.uniform(0.1, 9, width).astype(np.float16)
        for layer in range(LAYERS)
        for name, width in widths.items()
    }
    save_file(importance, folder / "importance.safetensors")
    return Plan(folder / "tokenizer.json", folder / "importance.safetensors", {}, source, shards=3, stored=STORED)


def with_checksums(plan: Plan, checksums: dict[str, str]) -> Plan:
    return replace(plan, checksums=checksums)


def silent(_doing: str, _share: float) -> None:
    """Hears of progress and says nothing."""
