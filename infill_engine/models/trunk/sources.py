"""Where a model of the trunk's architecture comes from: the trunk's own shards, a GGUF file, or a safetensors folder.

A source knows the sizes, the tokenizer and the origin of its weights without reading them. Does not import torch.
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from infill_engine.errors import ModelDamagedError, ModelNotFoundError
from infill_engine.models.checkpoint.files import read_config, weight_files
from infill_engine.models.checkpoint.folder import TOKENIZER, name_of, read_checksums, sha256_of, verify
from infill_engine.models.registry import TRUNK
from infill_engine.models.tokenizer import mask_name
from infill_engine.models.trunk.adapter import ADAPTER, Adapter
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.denoiser import Denoiser
from infill_engine.models.trunk.edit_adapter import EditAdapter
from infill_engine.models.trunk.files.safetensors_folder import config_of, open_safetensors
from infill_engine.models.trunk.files.weights import TrunkWeights
from infill_engine.models.trunk.merged import MergedWeights
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.smoothing import IMPORTANCE, Smoothing
from infill_engine.models.trunk.soft_prompt import SoftPrompt

QWEN2, GGUF = "qwen2", ".gguf"
START = 1 << 20  # bytes of a file that identify it, together with its size and time
_OTHER = re.compile(r"[^a-z0-9.]+")


class ModelSource(ABC):
    """A model that can be loaded. Methods raise ModelDamagedError.

    `name` is that of its prepared files, which no other model on this machine has. By default, nothing was trained
    beside the weights.
    """

    name: str
    config: TrunkConfig

    @abstractmethod
    def made_from(self) -> str:
        """Return a text that changes if the weights do."""

    @abstractmethod
    def vocabulary(self) -> TrunkVocabulary:
        """Return the tokens."""

    @abstractmethod
    def open(self) -> MergedWeights:
        """Check the weights, and return them; they stay on disk until they are read."""

    def denoiser(self) -> Denoiser | None:
        """Return the weights of mask rows, if the model has any."""
        return None

    def edit_adapter(self) -> EditAdapter | None:
        """Return the adapter for next edits, if the model has one."""
        return None

    def soft_prompt(self) -> SoftPrompt | None:
        """Return the soft prompt for next edits, if the model has one."""
        return None


@dataclass(frozen=True, slots=True)
class Parts:
    """What a backend is made from: a model's weights, and what was trained beside them."""

    source: ModelSource
    denoiser: Denoiser | None = None
    edit_adapter: EditAdapter | None = None


def source_of(path: Path, trained: Path) -> ModelSource | None:
    """Return the model at a path, None if it is of another kind. `trained` has the trunk's adapter.

    Raises ModelNotFoundError if there is none, and ModelDamagedError.
    """
    if path.suffix.lower() == GGUF and not path.is_dir():
        if not path.exists():
            raise ModelNotFoundError(f"there is no file {path}; check the spelling")
        return GgufSource(path)
    config = read_config(path)
    if config["model_type"] == TRUNK:
        return ShardsSource(path, trained)
    return SafetensorsSource(path, config) if config["model_type"] == QWEN2 and not mask_name(path) else None


class ShardsSource(ModelSource):
    """The trunk in `folder`, with the adapter in `trained`."""

    name = TRUNK

    def __init__(self, folder: Path, trained: Path) -> None:
        self.folder, self.trained, self.config = folder, trained, TrunkConfig.from_json(read_config(folder))

    def made_from(self) -> str:
        """See `ModelSource`."""
        return self._made_from

    @cached_property
    def _made_from(self) -> str:
        files = [path for path in (self.trained / ADAPTER, self.folder / IMPORTANCE) if path.is_file()]
        return json.dumps([read_checksums(self.folder), [sha256_of(path) for path in files]], sort_keys=True)

    def vocabulary(self) -> TrunkVocabulary:
        """See `ModelSource`."""
        return TrunkVocabulary(self.folder / TOKENIZER)

    def open(self) -> MergedWeights:
        """See `ModelSource`."""
        return MergedWeights(TrunkWeights(self.folder), Adapter.load(self.trained), Smoothing.load(self.folder))

    def denoiser(self) -> Denoiser | None:
        """See `ModelSource`."""
        return Denoiser.load(self.trained, self.config, self.made_from())

    def edit_adapter(self) -> EditAdapter | None:
        """See `ModelSource`."""
        return EditAdapter.load(self.trained, self.config, self.made_from())

    def soft_prompt(self) -> SoftPrompt | None:
        """See `ModelSource`."""
        return SoftPrompt.load(self.trained, self.config, self.made_from())


class GgufSource(ModelSource):
    """A GGUF file, which also contains the tokenizer."""

    def __init__(self, path: Path) -> None:
        from infill_engine.models.trunk.files.gguf_file import GgufFile

        self._file = GgufFile(path)
        self.config, self.name = self._file.config, _name(path.stem, path)

    def made_from(self) -> str:
        """See `ModelSource`."""
        return _fingerprint([self._file.path])

    def vocabulary(self) -> TrunkVocabulary:
        """See `ModelSource`."""
        return TrunkVocabulary(self._file.path, self._file.tokenizer(), self.config.vocabulary)

    def open(self) -> MergedWeights:
        """See `ModelSource`."""
        return MergedWeights(self._file)


class SafetensorsSource(ModelSource):
    """A folder with a Qwen2 checkpoint: config.json, safetensors files, and a tokenizer."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self._folder = folder
        self.config, self.name = config_of(config, folder), _name(name_of(folder), folder)

    def made_from(self) -> str:
        """See `ModelSource`."""
        return _fingerprint([self._folder / "config.json", *weight_files(self._folder)])

    def vocabulary(self) -> TrunkVocabulary:
        """See `ModelSource`."""
        return TrunkVocabulary(self._folder / TOKENIZER, width=self.config.vocabulary)

    def open(self) -> MergedWeights:
        """See `ModelSource`."""
        verify(self._folder)
        return MergedWeights(open_safetensors(self._folder, self.config))


def _name(name: str, path: Path) -> str:
    place = hashlib.sha256(str(path.absolute()).encode("utf-8", "surrogateescape")).hexdigest()[:6]
    return f"{_OTHER.sub('-', name.lower()).strip('-.') or 'model'}-{place}"


def _fingerprint(paths: Iterable[Path]) -> str:
    """Return a text that identifies files without reading them whole, which would take seconds at every start."""
    found = []
    for path in paths:
        try:
            with path.open("rb") as file:
                start = hashlib.sha256(file.read(START)).hexdigest()
            found.append(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns} {start}")
        except OSError as error:
            raise ModelDamagedError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
    return "\n".join(found)
