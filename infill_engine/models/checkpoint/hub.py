"""Published models by their name, `OWNER/NAME` or `OWNER/NAME@REVISION`, through the huggingface_hub library.

Only this module, `download` and `infill_engine.engine.remote` use a network, and only for a model that the user has
named or said yes to. Files that are already on this machine are used without a request. Only the needed files of a
model are downloaded: weights as safetensors, JSON, the tokenizer; never code, never a pickle. Of an interrupted
download, the files that came whole stay; huggingface_hub 2.4 begins the one that was under way anew.
"""

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from infill_engine.errors import ModelDamagedError, ModelError, ModelNotFoundError
from infill_engine.models.checkpoint.folder import tokenizer_files
from infill_engine.process import Report


def quietly(_doing: str, _share: float) -> None:
    """A `Report` that does nothing."""


FILES = (
    "config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
)
ELSEWHERE = ("*/*",)  # subfolders contain the same in other formats
_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*(@[\w./-]+)?", re.ASCII)
BYTES_BAR = "huggingface_hub.snapshot_download"  # the library's name for the bar that counts bytes
_TELL_BYTES = 8_000_000  # transferred between two reports


def is_hub_name(name: str) -> bool:
    """Return whether a name has the form of a published model's: OWNER/NAME, or OWNER/NAME@REVISION."""
    return _NAME.fullmatch(name) is not None


def cached(name: str) -> Path | None:
    """Return the folder of a model that is complete on this machine, found without a request; otherwise None."""
    _quieten_library()
    from huggingface_hub import snapshot_download

    repository, revision = _parts(name)
    with suppress(OSError, ValueError):  # raised by the library if all or some files are missing
        folder = Path(
            snapshot_download(repository, revision=revision, local_files_only=True, allow_patterns=list(FILES))
        )
        return folder if _is_whole(folder) and _has_tokenizer(folder) else None
    return None


def fetch(name: str, report: Report) -> Path:
    """Return the folder of a published model, downloaded if it is not on this machine; `report` follows the transfer.

    Raises ModelError, whose text says what to do.
    """
    if (folder := cached(name)) is not None:
        return folder
    from huggingface_hub import snapshot_download

    repository, revision = _parts(name)
    try:
        folder = Path(
            snapshot_download(
                repository,
                revision=revision,
                allow_patterns=list(FILES),
                ignore_patterns=list(ELSEWHERE),
                tqdm_class=_reporting(name, report),
            )
        )
    except Exception as error:  # the library's transport raises its own kinds of errors
        raise _in_words(name, error) from error
    if not _is_whole(folder):
        raise _not_whole(name)
    return folder


def peek(name: str) -> tuple[dict[str, Any], dict[str, tuple[int, ...]]]:
    """config.json and the shapes of all tensors by name, without downloading the weights. Raises ModelError."""
    _quieten_library()
    from huggingface_hub import get_safetensors_metadata, hf_hub_download, model_info

    from infill_engine.models.checkpoint.files import read_config

    repository, revision = _parts(name)
    try:
        model_info(repository, revision=revision)  # fails at once, where the next calls would retry repeatedly
        config = Path(hf_hub_download(repository, "config.json", revision=revision))
        metadata = get_safetensors_metadata(repository, revision=revision)
    except Exception as error:
        raise _in_words(name, error) from error
    files = metadata.files_metadata.values()
    return read_config(config.parent), {
        key: tuple(about.shape) for file in files for key, about in file.tensors.items()
    }


def _quieten_library() -> None:
    """Disable the library's telemetry and its output to the terminal: this module reports what matters."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read when the library is imported
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call, unused-ignore]


def _not_whole(name: str) -> ModelError:
    """Why weights are missing after a download: their format is unsupported, or they are incomplete or unreachable."""
    from huggingface_hub import list_repo_files

    repository, revision = _parts(name)
    try:
        published = list_repo_files(repository, revision=revision)
    except Exception as error:
        return _in_words(name, error)
    if any(file.endswith(".safetensors") and "/" not in file for file in published):
        return ModelDamagedError(f"{name} is incomplete, both here and as published; use another model")
    return _without_safetensors(name)


def _without_safetensors(name: str) -> ModelError:
    return ModelDamagedError(
        f"{name} is published without safetensors. Other formats run code when they are loaded, so infill-ls does not "
        "fetch them; use another version of the model, or convert it"
    )


def _in_words(name: str, error: Exception) -> ModelError:
    """Return why a model could not be downloaded, and what to do."""
    from huggingface_hub import constants, errors

    repository, revision = _parts(name)
    instead = f"name a folder with the files of {name} as the model"
    again = f"check the connection and try again, or {instead}"
    match error:
        case errors.GatedRepoError():
            return ModelError(
                f"{name} is given only to those who accept its terms: accept them on the model's page, log in on this "
                "machine with `hf auth login`, and try again"
            )
        case errors.RepositoryNotFoundError() | errors.HFValidationError():
            return ModelNotFoundError(
                f"there is no model {name}: no folder here and no published model has that name. Check the spelling; "
                "if it is private, log in with `hf auth login`"
            )
        case errors.NotASafetensorsRepoError():
            return _without_safetensors(name)
        case errors.RevisionNotFoundError():
            return ModelNotFoundError(f"{repository} has no revision {revision}; leave out what follows the @")
        case _ if constants.HF_HUB_OFFLINE:
            return ModelError(
                f"{name} is incomplete on this machine, and HF_HUB_OFFLINE forbids fetching it: unset that once, or "
                f"{instead}"
            )
        case errors.LocalEntryNotFoundError():  # raised by the library if there is no network
            return _unreachable(name, again)
        case _ if type(error).__name__ == "ConnectError":  # from any transport of the library
            return _unreachable(name, again)
        case errors.HfHubHTTPError() if error.response.status_code in (401, 403):
            status = error.response.status_code
            return ModelError(f"{name} may not be fetched ({status}): log in with `hf auth login` and try again")
        case OSError(errno=errno.ENOSPC):
            return ModelError(f"the disk is full; make room for {name} and try again; complete files are kept")
    return ModelError(f"{name} could not be fetched ({type(error).__name__}); complete files are kept: {again}")


def _unreachable(name: str, again: str) -> ModelError:
    return ModelError(f"{name} is not on this machine and cannot be reached: {again}")


def _parts(name: str) -> tuple[str, str | None]:
    repository, _, revision = name.partition("@")
    return repository, revision or None


def _is_whole(folder: Path) -> bool:
    from infill_engine.models.checkpoint.files import weight_files

    try:
        weight_files(folder)
    except ModelDamagedError:
        return False
    return (folder / "config.json").is_file()


def _has_tokenizer(folder: Path) -> bool:
    """Return whether the tokenizer's files were downloaded; loading reports a tokenizer in another format."""
    return all((folder / name).is_file() for name in tokenizer_files(folder))


def _reporting(name: str, report: Report) -> type[Any]:
    """Return a progress bar for the library that draws nothing and reports the transferred bytes to `report`."""
    from huggingface_hub.utils.tqdm import tqdm

    class Reporting(tqdm):  # type: ignore[misc, unused-ignore]
        def __init__(self, *args: Any, **options: Any) -> None:
            self.is_bytes = options.get("unit") == "B" and options.get("name") == BYTES_BAR
            self.told = -_TELL_BYTES
            super().__init__(*args, **(options | {"disable": True}))  # type: ignore[no-untyped-call, unused-ignore]

        def update(self, n: float | None = 1) -> bool | None:
            self.n += n or 0
            if self.is_bytes and self.total and (self.n >= self.told + _TELL_BYTES or self.n >= self.total):
                self.told = self.n
                report(f"fetching {name}, {self.n / 1e9:.2f} of {self.total / 1e9:.2f} GB", self.n / self.total)
            return None

    return Reporting
