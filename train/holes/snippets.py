"""Prompt heads for training, retrieved from the file's own package as they are when a prompt is served."""

import json
import random
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from cachetools import LRUCache

from infill_engine.context.project_text import joined, nearest_first
from infill_engine.context.snippets import SnippetRetriever
from infill_engine.context.window import WIDER_CONTEXT_CHARS
from infill_engine.errors import InputError
from infill_engine.models.trunk.prompt import TrunkVocabulary, build_head, fitting
from infill_engine.types import InfillRequest
from train.holes.examples import HeadOf, no_head

UNSEEN_CHARS = 500  # below the window that may be the suffix of a hole
SHOWN_CHARS = 1_600  # above a hole, which a request sends as its prefix
LARGEST_SHARE = 30_000  # characters of a file that count when files are drawn, so that huge files do not dominate
RETRIEVERS = 24  # packages whose file indexes are kept


@dataclass(frozen=True, slots=True)
class File:
    """A file of the corpus."""

    text: str
    language: str = "python"
    package: str = ""
    path: str = ""


def read_corpus(path: Path) -> list[File]:
    """Return the files of a corpus.jsonl. Raises InputError."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); build it with train.corpus.build") from error
    files = [json.loads(line) for line in lines]
    return [
        File(file["text"], file.get("language", "python"), file.get("package", ""), file.get("path", ""))
        for file in files
    ]


def shares_of(files: Sequence[File]) -> list[int]:
    """Return the weights of files when some are drawn."""
    return [min(len(file.text), LARGEST_SHARE) for file in files]


class Heads:
    """Builds the heads of a corpus's windows. `with_snippets` is the share of windows with snippets.

    Half of the other windows have no path either, so that prompts of files without a project are learned, too.
    """

    def __init__(self, files: Sequence[File], vocabulary: TrunkVocabulary, with_snippets: float) -> None:
        self._vocabulary = vocabulary
        self._with_snippets = with_snippets
        self._packages: dict[tuple[str, str], dict[PurePosixPath, str]] = defaultdict(dict)
        for file in files:
            if file.package:
                self._packages[file.package, file.language][PurePosixPath(file.path)] = file.text
        self._retrievers: LRUCache[tuple[str, str], tuple[SnippetRetriever, str]] = LRUCache(RETRIEVERS)

    def of(self, file: File, rng: random.Random) -> HeadOf:
        """Return the `HeadOf` of a window that will be drawn from a file."""
        if rng.random() >= self._with_snippets or not file.package:
            bare = build_head(self._vocabulary, file.path) if rng.random() < 0.5 else ()
            return (lambda _start, _end, _at: bare) if bare else no_head

        def head(start: int, end: int, at: int) -> tuple[int, ...]:
            retriever, name = self._retriever_of(file)
            text, below = file.text, end + UNSEEN_CHARS
            line_end = text.find("\n", at)
            suffix = text[line_end:below] if 0 <= line_end < below else ""
            wider_context = text[max(start - WIDER_CONTEXT_CHARS, 0) : start], text[below : below + WIDER_CONTEXT_CHARS]
            prefix = text[max(start, at - SHOWN_CHARS) : at]
            request = InfillRequest(
                prefix, suffix, file.language, project_name=name, wider_context=wider_context, path=file.path
            )
            snippets = retriever.retrieve_anew(request, partial(fitting, self._vocabulary))
            return build_head(self._vocabulary, file.path, snippets)

        return head

    def _retriever_of(self, file: File) -> tuple[SnippetRetriever, str]:
        key = file.package, file.path
        if key not in self._retrievers:
            own, package = PurePosixPath(file.path), self._packages[file.package, file.language]
            others = nearest_first(own, (path for path in package if path != own))
            project_text = joined((str(path), package[path]) for path in others)
            retriever = SnippetRetriever()
            deque(retriever.index(project_text), maxlen=0)
            self._retrievers[key] = retriever, project_text.name
        return self._retrievers[key]
