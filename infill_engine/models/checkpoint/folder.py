"""A model's folder on disk: where the default's is, and whether weights are still what was written. Needs no torch."""

import hashlib
import json
from importlib.resources import files
from pathlib import Path

from infill_engine.errors import ModelDamagedError

DEFAULT, TRUNK, SMALL = "default", "trunk", "small"  # models that need no path: the default is one of the other two
SMALL_FOLDER = Path(str(files("infill_engine"))) / "weights" / "small"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
CHECKSUMS = (
    "checksums.json"  # only of the weights: damage to the JSON files shows, and a checkout may change their ends
)
TOKENIZER = "tokenizer.json"
TOKENIZER_PARTS = ("vocab.json", "merges.txt")  # as Qwen2 and its descendants are published without it
TOKENIZER_CONFIG = "tokenizer_config.json"  # the special tokens of those
REMEDY = "install the model again"


def name_of(folder: Path) -> str:
    """What a model is called: OWNER/NAME of a published one, whose folder is named for a commit; else as the folder."""
    kind, *name = folder.parent.parent.name.split("--")
    return "/".join(name) if kind == "models" and folder.parent.name == "snapshots" else folder.name


def tokenizer_files(folder: Path) -> tuple[str, ...]:
    """The files that the model's tokenizer is read from, those there would have to be if there is none."""
    in_parts = not (folder / TOKENIZER).is_file() and all((folder / part).is_file() for part in TOKENIZER_PARTS)
    return (*TOKENIZER_PARTS, TOKENIZER_CONFIG) if in_parts else (TOKENIZER,)


def write_checksum(folder: Path) -> None:
    """Writes checksums.json: the SHA-256 of the weights beside it."""
    (folder / CHECKSUMS).write_text(json.dumps({WEIGHTS: _sha256(folder / WEIGHTS)}) + "\n", encoding="ascii")


def verify(folder: Path) -> None:
    """Raises ModelDamagedError if the weights are not what checksums.json says; without one they are taken as they are.

    Takes about 30 ms for the default model: a bit that has flipped in a weight shows nowhere else.
    """
    expected = _checksum(folder)
    try:
        if expected and _sha256(folder / WEIGHTS) != expected:
            raise ModelDamagedError(f"{folder / WEIGHTS} is damaged: it is not what {CHECKSUMS} says; {REMEDY}")
    except OSError as error:
        raise ModelDamagedError(f"{folder / WEIGHTS} cannot be read ({error.strerror}); {REMEDY}") from error


def fingerprint(folder: Path) -> str:
    """What tells one model's weights from another's: their SHA-256, as written down or, failing that, computed.

    Raises ModelDamagedError if neither can be read.
    """
    try:
        return _checksum(folder) or _sha256(folder / WEIGHTS)
    except OSError as error:
        raise ModelDamagedError(f"{folder / WEIGHTS} cannot be read ({error.strerror}); {REMEDY}") from error


def _checksum(folder: Path) -> str:
    """The checksum beside the weights; "" if there is none."""
    try:
        return str(json.loads((folder / CHECKSUMS).read_text(encoding="ascii"))[WEIGHTS])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelDamagedError(f"{folder / CHECKSUMS} cannot be read ({error}); {REMEDY}") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
