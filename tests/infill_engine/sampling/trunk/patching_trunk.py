"""A trunk whose network expects a given patch, over the real prompt, buffer and tokens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tiny_trunk import tiny_config, write_tokenizer

from infill_engine.models.trunk.backends.interface import LIKELIEST, PassResult
from infill_engine.models.trunk.config import TrunkConfig
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.models.trunk.slots import Rows

SURE, LIKELY, RARE = -0.1, -2.5, -12.0


class PatchingBackend:
    """Expects one of some patches, as far as the text before is the beginning of it, and unchanged lines elsewhere.

    A patch begins after the last title. `rows` has the number of rows of every pass.
    """

    device, profile, denoiser, forms, adapts = "cpu", "", None, (), False

    def __init__(self, vocabulary: TrunkVocabulary, patches: Sequence[str]) -> None:
        self.vocabulary, self.patches = vocabulary, patches
        self.config: TrunkConfig = tiny_config(len(vocabulary))
        self.rows: list[int] = []

    def new_buffer(self) -> dict[int, tuple[int, int]]:
        return {}

    def run(self, buffer: dict[int, Any], rows: Rows, first: int) -> PassResult:
        assert not rows.blocks
        self.rows.append(len(rows))
        for token, position, slot in zip(rows.ids, rows.positions, rows.slots, strict=True):
            buffer[slot] = (position, token)
        found = np.array([self._behind(buffer, seen) for seen in rows.seen[first:]], np.float32)
        return PassResult(found, np.argsort(-found, axis=-1)[:, :LIKELIEST])

    def copy(self, buffer: Any, slots: Sequence[int], to: int) -> None:
        raise NotImplementedError

    def copy_from(self, buffer: Any, other: Any, slots: slice) -> None:
        raise NotImplementedError

    def rotate(self, buffer: Any, slots: slice, by: int) -> None:
        raise NotImplementedError

    def _behind(self, buffer: dict[int, tuple[int, int]], seen: Any) -> np.ndarray[Any, Any]:
        visible = sorted(buffer[slot] for slot in np.flatnonzero(seen).tolist() if slot in buffer)
        assert [position for position, _ in visible] == list(range(len(visible)))  # nothing missing, nothing twice
        text = b"".join(self.vocabulary.bytes_of(token) for _, token in visible)
        written = text.rpartition(b" @@")[2].partition(b"\n")[2]
        logprobs = np.full(len(self.vocabulary), RARE, np.float32)
        logprobs[self.vocabulary.encode(" ")[0]] = LIKELY
        for patch in self.patches:
            data = patch.encode()
            if data.startswith(written) and len(data) > len(written):
                logprobs[self._next(data, len(written))] = SURE
        return logprobs

    def _next(self, patch: bytes, at: int) -> int:
        """Return the token of the patch that begins at a byte; lines are encoded one by one."""
        start = patch.rfind(b"\n", 0, at) + 1
        line = patch[start : patch.index(b"\n", at) + 1].decode()
        for token in self.vocabulary.encode(line):
            if start >= at:
                return token
            start += len(self.vocabulary.bytes_of(token))
        raise AssertionError


def patching_model(folder: Path, *patches: str) -> TrunkModel:
    """A model that expects these patches of the last file in the prompt."""
    vocabulary = TrunkVocabulary(write_tokenizer(folder))
    return TrunkModel(PatchingBackend(vocabulary, patches), vocabulary)
