"""A model's folder on disk: its files, and whether weights are intact. Does not import torch."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from mmap import ACCESS_READ, mmap
from pathlib import Path

from infill_engine.errors import ModelDamagedError

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
CHECKSUMS = (
    "checksums.json"  # of weights only: damage to JSON files is noticed anyway, and a checkout may change line ends
)
TOKENIZER = "tokenizer.json"
TOKENIZER_PARTS = ("vocab.json", "merges.txt")  # Qwen2 and its descendants may be published with these instead
TOKENIZER_CONFIG = "tokenizer_config.json"  # the special tokens for those
REMEDY = "install the model again"


def name_of(folder: Path) -> str:
    """A model's name: OWNER/NAME if it is published, since its folder is named after a commit; else the folder's."""
    kind, *name = folder.parent.parent.name.split("--")
    return "/".join(name) if kind == "models" and folder.parent.name == "snapshots" else folder.name


def tokenizer_files(folder: Path) -> tuple[str, ...]:
    """Return the files of the model's tokenizer; if there is none, the files that are missing."""
    in_parts = not (folder / TOKENIZER).is_file() and all((folder / part).is_file() for part in TOKENIZER_PARTS)
    return (*TOKENIZER_PARTS, TOKENIZER_CONFIG) if in_parts else (TOKENIZER,)


def verify(folder: Path, remedy: str = REMEDY) -> None:
    """Raise ModelDamagedError, naming the file, unless all weights match checksums.json.

    Without that file, weights are accepted unchecked. Takes about 1 ms per megabyte and core; nothing else detects a
    flipped bit.
    """
    checksums = read_checksums(folder, remedy)
    with ThreadPoolExecutor() as pool:  # hashing releases the interpreter's lock
        found = pool.map(lambda name: sha256_of(folder / name, remedy), checksums)
    for name, actual in zip(checksums, found, strict=True):
        if actual != checksums[name]:
            raise ModelDamagedError(f"{folder / name} is damaged: its checksum differs from {CHECKSUMS}; {remedy}")


def read_checksums(folder: Path, remedy: str = REMEDY) -> dict[str, str]:
    """The SHA-256 of each weight file by its name; empty if there is no checksums.json. Raises ModelDamagedError."""
    try:
        found = json.loads((folder / CHECKSUMS).read_text(encoding="ascii"))
        return {str(name): str(digest) for name, digest in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise ModelDamagedError(f"{folder / CHECKSUMS} cannot be read ({error}); {remedy}") from error


def sha256_of(path: Path, remedy: str = REMEDY) -> str:
    """Raise ModelDamagedError if the file cannot be read."""
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:  # an empty file cannot be mapped
                return hashlib.sha256().hexdigest()
            # One call hashes all of it without the interpreter's lock, for which every chunk would have to wait.
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                return hashlib.sha256(data).hexdigest()
    except OSError as error:
        raise ModelDamagedError(f"{path} cannot be read ({error.strerror}); {remedy}") from error
