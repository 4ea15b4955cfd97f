"""Copies of the default model that were adapted to a project: where they lie, and which of them serves which project.

    STATE/adapted/NAME-HASH/    one for each project root, for its owner alone: weights tell what they learned
        adapted.json            the project, the model it was made from, what was measured
        config.json model.safetensors checksums.json tokenizer.json calibration.json
        project.safetensors     the tokens of the project's text, to count in

This is the one place that decides between such a copy and the default. Whoever runs a model gets a folder's path and
knows no difference; whoever names a model to the user asks `shown_name`.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from infill_engine.errors import InfillError, InputError
from infill_engine.models.folder import DEFAULT, SMALL, SMALL_FOLDER, fingerprint
from infill_engine.models.trunk.folder import find_trunk
from infill_engine.user_data import state_folder, trunk_folder
from lsp_server.file_lock import locked

MANIFEST = "adapted.json"
LONGEST_NAME = 40
HASH_CHARACTERS = 12
UNFINISHED = "."  # begins the name of a copy that is being written or taken away


@dataclass(frozen=True, slots=True)
class Choice:
    """The model to run: its name or folder. `warning` is a sentence for the user about a copy that is passed over."""

    model: str
    warning: str = ""


def choose(model: str, places: Iterable[str | Path]) -> Choice:
    """The copy for the first of these places that lies in an adapted project, where the small model would serve.

    The nearest folder above a place counts. A copy made from other weights than those installed is passed over.
    """
    if model not in (DEFAULT, SMALL) or (model == DEFAULT and find_trunk(trunk_folder()).folder):
        return Choice(model)
    for place in places:
        start = Path(place).resolve()
        for project in (start, *start.parents):
            folder = folder_for(project)
            if folder.is_dir():
                return _usable(folder, project)
    return Choice(model)


def folder_for(project: Path) -> Path:
    """Where the copy for the project with this absolute path is, or would be."""
    name = re.sub(r"[^\w.-]", "_", project.name)[:LONGEST_NAME] or "root"
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()
    return _home() / f"{name}-{digest[:HASH_CHARACTERS]}"


def is_adapted(model: str) -> bool:
    """Whether a model's name is the folder of such a copy."""
    return os.sep in model and Path(model).parent == _home()


def shown_name(model: str) -> str:
    """A model's name as the user is told it."""
    return f"{DEFAULT}, adapted to {Path(model).name[: -HASH_CHARACTERS - 1]}" if is_adapted(model) else model


def passed_over(sentence: str) -> str:
    """What the user is told about a copy that cannot be used."""
    return f"infill-ls: {sentence} The default model is used instead. Run `infill-ls adapt` on the project again."


@contextlib.contextmanager
def only_run() -> Iterator[None]:
    """Nobody else adapts a model meanwhile: it takes all cores. Raises InputError, and OSError from the disk."""
    try:
        with locked(_home() / "adapting", 0.0):
            yield
    except TimeoutError:
        raise InputError("another `infill-ls adapt` is running; wait until it has ended") from None


def staging_folder(project: Path) -> Path:
    """An empty, private folder beside the project's copy to write a new one into. Raises OSError."""
    target = folder_for(project)
    _sweep(target)
    staged = target.with_name(f"{UNFINISHED}{target.name}.new")
    _home().mkdir(mode=0o700, parents=True, exist_ok=True)
    staged.mkdir(mode=0o700)
    return staged


def install(staged: Path, project: Path) -> Path:
    """Puts a finished copy in the place of the old one, and says where. Raises OSError, with the old one in place."""
    target = folder_for(project)
    old = target.with_name(f"{UNFINISHED}{target.name}.old")
    if target.exists():
        target.rename(old)
    try:
        staged.rename(target)
    except OSError:
        with contextlib.suppress(OSError):
            old.rename(target)
        raise
    _sweep(target)
    return target


def remove(project: Path) -> bool:
    """Takes away the project's copy; whether there was one. Raises OSError."""
    target = folder_for(project)
    _sweep(target)
    if not target.exists():
        return False
    old = target.with_name(f"{UNFINISHED}{target.name}.old")
    target.rename(old)
    shutil.rmtree(old)
    return True


def _home() -> Path:
    return state_folder() / "adapted"


def _usable(folder: Path, project: Path) -> Choice:
    again = f"Run `infill-ls adapt {project}` again, or with --reset to be rid of it."
    try:
        base = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["base"]
        outdated = base != fingerprint(SMALL_FOLDER)
    except (OSError, ValueError, TypeError, KeyError, InfillError) as error:
        why = f"the model adapted to {project.name} cannot be used ({type(error).__name__} in {folder})"
        return Choice(DEFAULT, f"infill-ls: {why}; the default model is used. {again}")
    if outdated:
        why = f"the model adapted to {project.name} was made from another default model than the one installed now"
        return Choice(DEFAULT, f"infill-ls: {why}, which is used. {again}")
    return Choice(str(folder))


def _sweep(target: Path) -> None:
    """Removes what an interrupted run left beside a copy; an old one whose successor never came is put back."""
    old, new = (target.with_name(f"{UNFINISHED}{target.name}.{which}") for which in ("old", "new"))
    if old.exists() and not target.exists():
        old.rename(target)
    for left in (old, new):
        shutil.rmtree(left, ignore_errors=True)
