"""The GGUF file that the trunk is made from: whether it is the right one, and its tensors in float32.

Raises ModelError with a message that names the file, the problem and the remedy.
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader, dequantize
from numpy.typing import NDArray

from infill_engine.errors import ModelDamagedError, ModelNotFoundError
from infill_engine.models.trunk.files.source import SOURCE, Source

Report = Callable[[str, float], None]  # the current task, and the share of it that is done
Floats = NDArray[np.float32]

ARCHITECTURE = "qwen2"
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
HEAD = "output.weight"  # also used as the embedding: the input's own copy has fewer bits
SIZES = {
    "layers": f"{ARCHITECTURE}.block_count",
    "dim": f"{ARCHITECTURE}.embedding_length",
    "heads": f"{ARCHITECTURE}.attention.head_count",
    "kv_heads": f"{ARCHITECTURE}.attention.head_count_kv",
    "hidden": f"{ARCHITECTURE}.feed_forward_length",
    "rope_theta": f"{ARCHITECTURE}.rope.freq_base",
    "norm_epsilon": f"{ARCHITECTURE}.attention.layer_norm_rms_epsilon",
}
TOKENS = "tokenizer.ggml.tokens"
FIELDS = ("general.architecture", TOKENS, *SIZES.values())
_CHUNK = 1 << 23


def require_source(path: Path, source: Source, report: Report) -> None:
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


class GgufFile:
    """The tensors and the sizes of a Qwen2 model in a GGUF file. Tensors stay on disk until they are requested."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            reader = GGUFReader(path)
        except (OSError, ValueError, IndexError, KeyError) as error:
            raise ModelDamagedError(f"{path} is no GGUF file that can be read ({error}); fetch it again") from error
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        self._fields = {name: field.contents() for name in FIELDS if (field := reader.get_field(name)) is not None}
        reader.fields.clear()  # the vocabulary and the merges as objects take 450 MB
        architecture = self._field(FIELDS[0])
        if architecture != ARCHITECTURE:
            raise ModelDamagedError(
                f"{path} holds a model of the architecture {architecture!r}; the trunk is {ARCHITECTURE!r}. "
                f"Give {SOURCE.file} of {SOURCE.address}"
            )

    def sizes(self) -> dict[str, int | float]:
        """Return the fields of the trunk's config.json, except for the vocabulary."""
        sizes = {name: self._field(field) for name, field in SIZES.items()}
        sizes["norm_epsilon"] = float(f"{sizes['norm_epsilon']:.3g}")  # written in single precision
        return sizes | {"head_dim": sizes["dim"] // sizes["heads"]}

    def tokens(self) -> list[str]:
        """Return every token as written in the file, in order."""
        return list(self._field(TOKENS))

    def shape_of(self, layer: int, name: str) -> tuple[int, int]:
        """Return the shape of a matrix, (out, in)."""
        columns, rows = self._tensor(f"blk.{layer}.{MATRICES[name]}.weight").shape
        return int(rows), int(columns)

    def matrix(self, layer: int, name: str) -> Floats:
        """Return a matrix [out, in] of a layer: one of MATRICES."""
        return self._read(f"blk.{layer}.{MATRICES[name]}.weight")

    def bias(self, layer: int, name: str) -> Floats:
        """Return the bias [out] of a matrix: one of BIASES."""
        return self._read(f"blk.{layer}.{MATRICES[name]}.bias")

    def norm(self, layer: int, name: str) -> Floats:
        """Return a norm [dim] of a layer: one of NORMS."""
        return self._read(f"blk.{layer}.{NORMS[name]}.weight")

    def last_norm(self) -> Floats:
        """Return the norm [dim] before the head."""
        return self._read("output_norm.weight")

    def head_rows(self, tokens: Sequence[int]) -> Floats:
        """Return the head's rows [T, dim] for `tokens`."""
        return self._read(HEAD, np.asarray(tokens))

    def _read(self, name: str, rows: NDArray[np.integer] | None = None) -> Floats:
        tensor = self._tensor(name)
        data = tensor.data if rows is None else tensor.data[rows]
        return np.asarray(dequantize(data, tensor.tensor_type), np.float32)

    def _tensor(self, name: str) -> Any:
        if name not in self._tensors:
            raise ModelDamagedError(f"{self.path} has no tensor {name}; fetch {SOURCE.file} of {SOURCE.address} again")
        return self._tensors[name]

    def _field(self, name: str) -> Any:
        if name not in self._fields:
            raise ModelDamagedError(f"{self.path} has no field {name}; fetch {SOURCE.file} of {SOURCE.address} again")
        return self._fields[name]


def _another(path: Path, source: Source, found: str) -> ModelDamagedError:
    return ModelDamagedError(
        f"{path} is not the file that the trunk is made from. Found: {found}. "
        f"Expected: {source.file}, {source.size:,} bytes, SHA-256 {source.sha256}. "
        f"Fetch it from {source.address}, or run `infill-ls models get --download`"
    )


def _is_gguf(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as file:
        return file.read(4) == b"GGUF"
    return False


def _named(path: Path) -> str:
    """Return the name that a GGUF file has for itself, to be added to a sentence; empty if it has none."""
    with suppress(Exception):  # the file may be of any kind, and the reader fails in many ways
        field = GGUFReader(path).get_field("general.name")
        if field is not None:
            return f', and it calls itself "{field.contents()}"'
    return ", and it is no GGUF file" if not _is_gguf(path) else ""
