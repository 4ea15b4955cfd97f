"""GGUF files with Qwen2 models: the one that the trunk is made from, and the weights of any other.

Raises ModelError with a message that names the file, the problem and the remedy.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, dequantize
from tokenizers import AddedToken, Tokenizer, models

from infill_engine.errors import ModelDamagedError, ModelNotFoundError
from infill_engine.models.tokenizer import qwen_tokenizer
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.files.formats import Floats
from infill_engine.models.trunk.files.gguf_header import ARCHITECTURE, REMEDY, TOKENS, read_gguf_header
from infill_engine.models.trunk.files.named_weights import EMBEDDING, EVERY, HEAD, NamedWeights
from infill_engine.models.trunk.files.published_file import PublishedFile
from infill_engine.process import Report

MATRICES = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "gate": "ffn_gate",
    "up": "ffn_up",
    "down": "ffn_down",
}
BIASES = ("q", "k", "v")
NORMS = {"attention_norm": "attn_norm", "mlp_norm": "ffn_norm"}
OUTPUT, INPUT = "output.weight", "token_embd.weight"
NAMES = {
    **{name: f"blk.{{}}.{theirs}.weight" for name, theirs in (MATRICES | NORMS).items()},
    **{f"{name}.bias": f"blk.{{}}.{MATRICES[name]}.bias" for name in BIASES},
    "norm": "output_norm.weight",
    EMBEDDING: INPUT,
    HEAD: OUTPUT,
}
SIZES = {
    "layers": "block_count",
    "dim": "embedding_length",
    "heads": "attention.head_count",
    "kv_heads": "attention.head_count_kv",
    "hidden": "feed_forward_length",
    "rope_theta": "rope.freq_base",
    "norm_epsilon": "attention.layer_norm_rms_epsilon",
}
MERGES = "tokenizer.ggml.merges"
NORMAL, CONTROL, OWN = 1, 3, 4  # kinds of tokens; others are never used
COMPARED, ALIKE = 64, 0.1  # rows, and a relative squared error that rounding to two bits or more does not reach
_CHUNK = 1 << 23


def require_source(path: Path, source: PublishedFile, report: Report) -> None:
    """Raise ModelNotFoundError if there is no such file, ModelDamagedError if it is not `source`."""
    if not path.is_file():
        raise ModelNotFoundError(f"there is no file {path}; give the path of {source.file}")
    size = path.stat().st_size
    if size < source.size and _is_gguf(path):
        raise _another(path, source, f"{size:,} bytes, so the download is probably unfinished")
    if size != source.size:
        raise _another(path, source, f"{size:,} bytes{_named(path)}")
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                report(f"checking {path.name}", file.tell() / size)
    except OSError as error:
        raise ModelDamagedError(
            f"{path} cannot be read ({error.strerror}); check the disk and the permissions"
        ) from error
    if digest.hexdigest() != source.sha256:
        raise _another(path, source, f"the same size, but SHA-256 {digest.hexdigest()}{_named(path)}")


class GgufFile(NamedWeights):
    """The sizes and the weights of a Qwen2 model in a GGUF file. Tensors stay on disk until they are requested."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._header = read_gguf_header(path)
        architecture = self._header.fields.get("general.architecture")
        if architecture != ARCHITECTURE:
            raise ModelDamagedError(
                f"{path} holds a model of the architecture {architecture!r}, but only {ARCHITECTURE!r} can be read; "
                "use a Qwen2.5-Coder model, or another form of this one"
            )
        if (scaling := self._header.fields.get(f"{ARCHITECTURE}.rope.scaling.type", "none")) != "none":
            raise ModelDamagedError(f"{path} scales its positions ({scaling}); use the model as first published")
        self._require_whole()
        self._content = np.memmap(path, np.uint8, mode="r")
        tied = self._is_tied()
        embedding = OUTPUT if tied and OUTPUT in self._header.tensors else INPUT  # the output has more bits
        config = TrunkConfig(len(self.tokens()), tied=tied, **self.sizes())  # type: ignore[arg-type]
        super().__init__(config, NAMES | {EMBEDDING: embedding}, self._rows, path)

    def sizes(self) -> dict[str, int | float]:
        """Return the fields of the trunk's config.json, except for the vocabulary."""
        sizes = {name: self._field(f"{ARCHITECTURE}.{field}") for name, field in SIZES.items()}
        for name, size in sizes.items():
            if not isinstance(size, int | float) or size <= 0:
                raise ModelDamagedError(f"{self.path}: {SIZES[name]} is {size!r}, not a positive number; {REMEDY}")
        sizes["norm_epsilon"] = float(f"{sizes['norm_epsilon']:.3g}")  # written in single precision
        return sizes | {"head_dim": sizes["dim"] // sizes["heads"]}

    def tokens(self) -> list[str]:
        """Return every token as written in the file, in order."""
        return list(self._field(TOKENS))

    def head_rows(self, tokens: Sequence[int]) -> Floats:
        """Return the head's rows [T, dim] for `tokens`."""
        return self._rows(OUTPUT, np.asarray(tokens))

    def _rows(self, name: str, rows: Any) -> Floats:
        tensor = self._tensor(name)
        kind = GGMLQuantizationType(tensor.kind)
        weights, size = GGML_QUANT_SIZES[kind]
        *count, columns = tensor.shape
        stored = self._content[tensor.start :][: int(np.prod(count)) * columns // weights * size]
        data = stored.reshape(*count, -1) if rows is EVERY else stored.reshape(*count, -1)[rows]
        try:
            return np.array(dequantize(data, kind), np.float32)
        except NotImplementedError as error:
            raise ModelDamagedError(f"{self.path}: {name} is in the format {kind.name}; use another file") from error

    def _is_tied(self) -> bool:
        """Return whether input and output are the same matrix, even if each is rounded differently."""
        if not {OUTPUT, INPUT} <= self._header.tensors.keys():
            return True
        one, other = (self._rows(name, slice(COMPARED)) for name in (OUTPUT, INPUT))
        return bool(np.square(one - other).sum() < ALIKE * np.square(one).sum())

    def _require_whole(self) -> None:
        """Raise ModelDamagedError if a tensor ends after the file does, or is of an unknown type."""
        size = self.path.stat().st_size
        for name, tensor in self._header.tensors.items():
            if tensor.kind not in GGML_QUANT_SIZES:
                raise ModelDamagedError(
                    f"{self.path}: {name} is in an unknown format ({tensor.kind}); use another file"
                )
            weights, bytes_ = GGML_QUANT_SIZES[GGMLQuantizationType(tensor.kind)]
            end = tensor.start + int(np.prod(tensor.shape)) // weights * bytes_
            if tensor.shape[-1] % weights:
                raise ModelDamagedError(f"{self.path}: {name} has the unexpected shape {tensor.shape}; {REMEDY}")
            if end > size:
                raise ModelDamagedError(f"{self.path} is cut short: {name} ends at byte {end:,} of {size:,}; {REMEDY}")

    def _tensor(self, name: str) -> Any:
        if name not in self._header.tensors:
            raise ModelDamagedError(f"{self.path} has no tensor {name}; {REMEDY}")
        return self._header.tensors[name]

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer in the file. Raises ModelDamagedError if it is not of Qwen2's kind."""
        fields = self._header.fields
        kind = (fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre"))
        if kind != ("gpt2", ARCHITECTURE):
            raise ModelDamagedError(
                f"{self.path} has the tokenizer {kind[1] or kind[0]!r}, but only {ARCHITECTURE}'s can be used; use a "
                "Qwen2.5-Coder model"
            )
        try:
            named = list(zip(fields[TOKENS], fields["tokenizer.ggml.token_type"], strict=True))
            merges = [(left, right) for left, _, right in (pair.partition(" ") for pair in fields[MERGES])]
            vocabulary = {token: number for number, (token, kind) in enumerate(named) if kind in (NORMAL, CONTROL, OWN)}
            tokenizer = qwen_tokenizer(models.BPE(vocabulary, merges))
        except Exception as error:  # the library raises plain exceptions
            raise ModelDamagedError(
                f"{self.path} has a tokenizer that cannot be read ({error}); fetch it again"
            ) from error
        added = [(token, kind == CONTROL) for token, kind in named if kind in (CONTROL, OWN)]
        tokenizer.add_tokens([AddedToken(token, special=special, normalized=False) for token, special in added])
        return tokenizer

    def _field(self, name: str) -> Any:
        if name not in self._header.fields:
            raise ModelDamagedError(f"{self.path} has no field {name}; {REMEDY}")
        return self._header.fields[name]


def _another(path: Path, source: PublishedFile, found: str) -> ModelDamagedError:
    return ModelDamagedError(
        f"{path} is not the file that the default model is made from. Found: {found}. "
        f"Expected: {source.file}, {source.size:,} bytes, SHA-256 {source.sha256}. "
        f"Fetch it from {source.address}, or run `infill-ls models get --download`"
    )


def _is_gguf(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(4) == b"GGUF"
    return False


def _named(path: Path) -> str:
    """Return the name that a GGUF file gives itself, as the end of a sentence; empty if it gives none."""
    with suppress(ModelDamagedError, KeyError):
        return f', and it calls itself "{read_gguf_header(path).fields["general.name"]}"'
    return ", and it is not a GGUF file" if not _is_gguf(path) else ""
