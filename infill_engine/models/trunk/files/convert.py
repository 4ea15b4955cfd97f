"""The trunk's shards, made from the GGUF file of Qwen2.5-Coder-0.5B-Instruct: the same bytes on every machine.

    check the file ──▶ keep our tokenizer's tokens ──▶ round the matrices ──▶ write a shard at a time

A shard that already exists is kept, so an interrupted conversion continues where it stopped. Takes about a minute and
1 GB of memory. The contents of the shards:

    layers.{i}.{q,k,v,o,gate,up,down}.{codes,scales,high}   a matrix in four, five or eight bits
    layers.{i}.{q,k,v}.bias                                 float32
    layers.{i}.{attention_norm,mlp_norm}, norm              float32
    embedding.{codes,scales,high}                           a row for each token, as a matrix; also the head
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from infill_engine.errors import ModelDamagedError, ModelError
from infill_engine.models.checkpoint.files import shapes_in
from infill_engine.models.checkpoint.folder import CHECKSUMS, INDEX, TOKENIZER, read_checksums, sha256_of
from infill_engine.models.trunk.files.folder import CONFIG, TRUNK_FOLDER
from infill_engine.models.trunk.files.formats import (
    EIGHT_BITS,
    FIVE_BITS,
    FOUR_BITS,
    FOUR_BITS_64,
    Floats,
    Format,
    PackedBlocks,
    pack,
)
from infill_engine.models.trunk.files.gguf_file import (
    BIASES,
    MATRICES,
    NORMS,
    GgufFile,
    require_source,
)
from infill_engine.models.trunk.files.published_file import PUBLISHED, PublishedFile
from infill_engine.models.trunk.files.shards import recipe_of, shard_name, split, write_shard, write_text
from infill_engine.models.trunk.smoothing import IMPORTANCE
from infill_engine.process import Report

VERSION = 1  # of the shards' contents; a shard of another version is not kept
SHARDS = 4
ROWS = 4096  # of the embedding to read at a time
FORMATS = {"a": FOUR_BITS_64, "b": FOUR_BITS, "c": FIVE_BITS, "d": EIGHT_BITS}
# The format of each layer's matrix. Bits are spent where they most reduce the divergence from the exact model. The
# mean squares of a matrix's inputs and of the gradient at its outputs, on code in nine languages, predict it.
STORED = {
    "q": "cccccccccccccccccccccccc",
    "k": "cccccccccccccccccccccccc",
    "v": "dddddddddddddddddddddddd",
    "o": "cccccccccccccccccccccccc",
    "gate": "aaaaaababaaaaaabbaabbbbc",
    "up": "caaaaabbbabbbbbccbaccccc",
    "down": "cababaabaaaababbbbbbbbbc",
}
EMBEDDING = "c"
INPUTS = {"q": "attention", "k": "attention", "v": "attention", "o": "o", "gate": "mlp", "up": "mlp", "down": "down"}
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class ConvertedPart:
    """Tensors that go into the same shard: their approximate size, and how to make them."""

    size: int
    make: Callable[[], Arrays]


@dataclass(frozen=True, slots=True)
class Plan:
    """What the shards are made from, besides the GGUF file: the folder of the tokenizer, and the expected results.

    `checksums` are those of the released shards; a shard without one is accepted as built.
    """

    tokenizer: Path
    importance: Path
    checksums: Mapping[str, str]
    source: PublishedFile = PUBLISHED
    shards: int = SHARDS
    stored: Mapping[str, str] = field(default_factory=lambda: STORED)
    embedding: str = EMBEDDING


def released() -> Plan:
    """Return the plan for the default model's shards."""
    return Plan(TRUNK_FOLDER / TOKENIZER, TRUNK_FOLDER / IMPORTANCE, read_checksums(TRUNK_FOLDER))


def convert(path: Path, folder: Path, plan: Plan, report: Report) -> list[str]:
    """Make the shards in `folder` from the GGUF file at `path`. Returns the names of those that did not exist yet.

    Raises ModelError, whose text says what to do, if it is another file, and OSError if writing fails.
    """
    require_source(path, plan.source, report)
    report("reading the tokenizer", 0.0)
    file = GgufFile(path)
    kept = kept_tokens(plan.tokenizer, file)
    parts = _parts(file, kept, plan)
    folder.mkdir(parents=True, exist_ok=True)
    recipe = _recipe(plan, kept)
    groups = split([part.size for part in parts], plan.shards)
    sums, built = read_checksums(folder), []
    where: dict[str, str] = {}
    for number, group in enumerate(groups):
        name = shard_name(number, len(groups))
        if not _is_there(folder / name, sums.get(name, ""), recipe):
            arrays: Arrays = {}
            for place, part in enumerate(group):
                report(f"building {name}", (number + place / len(group)) / len(groups))
                arrays |= parts[part].make()
            sums[name] = write_shard(folder / name, arrays, recipe)
            built.append(name)
            _require_released(name, sums[name], plan)
            _write_json(folder / CHECKSUMS, sums)
        where |= dict.fromkeys(shapes_in(folder / name), name)
    _write_rest(file, folder, plan, len(kept), sums, where)
    report("done", 1.0)
    return built


def kept_tokens(tokenizer: Path, file: GgufFile) -> list[int]:
    """Return the number in the GGUF file of each token of our tokenizer, in order. Tokens are matched by their text."""
    try:
        content = json.loads(tokenizer.read_text(encoding="utf-8"))
        ours = {**content["model"]["vocab"], **{each["content"]: each["id"] for each in content["added_tokens"]}}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelDamagedError(f"{tokenizer} cannot be read ({error}); install infill-ls again") from error
    theirs = {token: number for number, token in enumerate(file.tokens())}
    by_number = sorted(ours, key=ours.__getitem__)
    lacking = [token for token in by_number if token not in theirs]
    if lacking or [ours[token] for token in by_number] != list(range(len(ours))):
        what = f"{len(lacking)} tokens that {file.path.name} lacks" if lacking else "gaps in its numbers"
        raise ModelDamagedError(f"{tokenizer} has {what}; install infill-ls again")
    return [theirs[token] for token in by_number]


def _parts(file: GgufFile, kept: list[int], plan: Plan) -> list[ConvertedPart]:
    """Return everything that goes into the shards, in order."""
    importance = load_file(plan.importance)
    dim = file.config.dim

    stored = FORMATS[plan.embedding]
    parts = [ConvertedPart(stored.bytes_of(len(kept), dim), partial(_embedding, file, kept, stored))]
    for layer in range(file.config.layers):
        parts.append(ConvertedPart(2 * 4 * dim, partial(_vectors, file, layer)))
        for name in MATRICES:
            stored = FORMATS[plan.stored[name][layer]]
            channels = importance[f"layers.{layer}.{INPUTS[name]}"].astype(np.float32)
            make = partial(_matrix, file, layer, name, stored, channels)
            parts.append(ConvertedPart(stored.bytes_of(*file.config.shapes[name]), make))
    return [*parts, ConvertedPart(4 * dim, lambda: {"norm": file.read_vector("norm")})]


def _embedding(file: GgufFile, kept: list[int], stored: Format) -> Arrays:
    """Return the rows of the kept tokens, rounded one block at a time: all of them in float32 take 290 MB."""
    blocks = []
    for start in range(0, len(kept), ROWS):
        rows = file.head_rows(kept[start : start + ROWS])
        blocks.append(_tensors("embedding", pack(rows, np.ones(rows.shape[1], np.float32), stored)))
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _vectors(file: GgufFile, layer: int) -> Arrays:
    names = [f"layers.{layer}.{name}" for name in (*NORMS, *(f"{bias}.bias" for bias in BIASES))]
    return {name: file.read_vector(name) for name in names}


def _matrix(file: GgufFile, layer: int, name: str, stored: Format, importance: Floats) -> Arrays:
    return _tensors(f"layers.{layer}.{name}", pack(file.read_matrix(layer, name), importance, stored))


def _tensors(prefix: str, packed: PackedBlocks) -> Arrays:
    arrays: Arrays = {f"{prefix}.codes": packed.codes, f"{prefix}.scales": packed.scales}
    return arrays if packed.high is None else arrays | {f"{prefix}.high": packed.high}


def _recipe(plan: Plan, kept: list[int]) -> str:
    """Return a hash of everything that determines the contents of the shards."""
    used = {
        "version": VERSION,
        "stored": {**plan.stored, "embedding": plan.embedding},
        "formats": {letter: asdict(each) for letter, each in FORMATS.items()},
        "shards": plan.shards,
        "source": asdict(plan.source),
        "tokens": hashlib.sha256(np.asarray(kept, "<i4").tobytes()).hexdigest(),
        "importance": sha256_of(plan.importance),
    }
    return hashlib.sha256(json.dumps(used, sort_keys=True).encode("ascii")).hexdigest()


def _is_there(path: Path, checksum: str, recipe: str) -> bool:
    """Return whether a shard was written by this recipe and is unchanged."""
    try:
        return recipe_of(path) == recipe and sha256_of(path) == checksum
    except ModelDamagedError:
        return False


def _require_released(name: str, checksum: str, plan: Plan) -> None:
    expected = plan.checksums.get(name, checksum)
    if checksum != expected:
        raise ModelError(
            f"{name} came out with SHA-256 {checksum}, and the released one has {expected}. Run the command again; if "
            "it happens again, report it with the versions of infill-ls, numpy and gguf and the name of the processor"
        )


def _write_rest(
    file: GgufFile, folder: Path, plan: Plan, tokens: int, sums: Mapping[str, str], where: Mapping[str, str]
) -> None:
    """Write config.json, the index, the tokenizer, and the checksums of these shards alone."""
    names = set(where.values())
    total = sum((folder / name).stat().st_size for name in names)
    _write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))})
    _write_json(folder / CONFIG, {"model_type": "trunk", "vocabulary": tokens, **file.sizes()})
    for given, name in ((plan.tokenizer, TOKENIZER), (plan.importance, IMPORTANCE)):
        if given.resolve() != (folder / name).resolve():
            shutil.copyfile(given, folder / name)
    _write_json(folder / CHECKSUMS, {name: sums[name] for name in sorted(names)})


def _write_json(path: Path, content: object) -> None:
    write_text(path, json.dumps(content, indent=1) + "\n")
