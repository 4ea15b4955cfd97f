"""Where the trunk's shards are, and whether they are intact. Does not import torch.

A package may have the shards in TRUNK_FOLDER. Without them, it relies on `infill-ls models get`, which builds the same
files in the user's own folder. config.json, the tokenizer and the index are beside them; checksums.json has each
shard's SHA-256.
"""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from infill_engine.errors import ModelDamagedError
from infill_engine.models.checkpoint.files import indexed_files, shapes_in
from infill_engine.models.checkpoint.folder import CHECKSUMS, INDEX, TOKENIZER, verify

TRUNK_FOLDER = Path(str(files("infill_engine"))) / "weights" / "trunk"
CONFIG = "config.json"
SHARDS = "model-*-of-*.safetensors"
REMEDY = "run `infill-ls models get` to rebuild it"


@dataclass(frozen=True, slots=True)
class FoundTrunk:
    """The folder with all of the trunk's shards. If there is none, `user_message` says what is wrong and what to do.

    `damaged` says whether there were files that were meant to be the trunk.
    """

    folder: Path | None
    user_message: str = ""
    damaged: bool = False


def find_trunk(users: Path) -> FoundTrunk:
    """Return the package's own shards if all are there, else those in the user's folder `users`.

    Checks only sizes, which takes no time; `verify_shards` reads everything. A package without an index does not claim
    to have all shards.
    """
    troubles = []
    for folder in (TRUNK_FOLDER, users):
        try:
            require_shards(folder)
        except ModelDamagedError as error:
            if any(folder.glob(SHARDS)) and (folder == users or (folder / INDEX).is_file()):
                troubles.append(str(error))
        else:
            return FoundTrunk(folder)
    missing = "The default model's weights are not on this machine. Run `infill-ls models get` to build them."
    return FoundTrunk(None, troubles[-1] if troubles else missing, bool(troubles))


def require_shards(folder: Path) -> None:
    """Raise ModelDamagedError if a file is missing, or a shard does not have the length in its header."""
    shards = indexed_files(folder, REMEDY)
    for name in (CONFIG, TOKENIZER, CHECKSUMS, *shards):
        if not (folder / name).is_file():
            raise ModelDamagedError(f"{folder / name} is missing; {REMEDY}")
    for name in shards:
        shapes_in(folder / name, REMEDY)


def verify_shards(folder: Path) -> None:
    """Raise ModelDamagedError, naming the file, unless every shard matches checksums.json. Takes 0.2 to 1 s."""
    require_shards(folder)
    verify(folder, REMEDY)
