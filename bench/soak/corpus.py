"""The files that are edited: of this repository and of the packages beside it, in many languages."""

import random
from dataclasses import dataclass
from pathlib import Path

import psutil

REPOSITORY = Path(__file__).parents[2]
PACKAGES = Path(psutil.__file__).parents[1]
# What each file name's ending is in the protocol, and the share of the files that have it.
LANGUAGES = {
    ".py": ("python", 10),
    ".lua": ("lua", 2),
    ".ts": ("typescript", 2),
    ".js": ("javascript", 2),
    ".c": ("c", 2),
    ".h": ("cpp", 2),
    ".cpp": ("cpp", 2),
    ".md": ("markdown", 2),
    ".toml": ("toml", 1),
    ".json": ("json", 1),
    ".yaml": ("yaml", 1),
    ".sh": ("shellscript", 1),
    ".html": ("html", 1),
    ".css": ("css", 1),
    ".txt": ("plaintext", 1),
}
SMALLEST, LARGEST = 400, 60_000  # bytes
MOST_OF_ONE_ENDING = 120
_SKIPPED = frozenset((".git", ".venv", "results", "node_modules", "weights"))


@dataclass(frozen=True, slots=True)
class File:
    """A file of the corpus, with LF line ends."""

    path: Path
    language: str
    text: str


def read_corpus(seed: int) -> dict[str, list[File]]:
    """Return files by the ending of their names, the same for the same seed and the same files on disk."""
    rng = random.Random(seed)
    found: dict[str, list[Path]] = {ending: [] for ending in LANGUAGES}
    for root in (REPOSITORY, PACKAGES):
        for path in sorted(root.rglob("*")):
            if path.suffix in found and _SKIPPED.isdisjoint(path.relative_to(root).parts) and _fits(path):
                found[path.suffix].append(path)
    corpus = {}
    for ending, paths in found.items():
        files = [_read(path) for path in rng.sample(paths, min(len(paths), MOST_OF_ONE_ENDING))]
        if kept := [file for file in files if file is not None]:
            corpus[ending] = kept
    return corpus


def pick(corpus: dict[str, list[File]], rng: random.Random) -> File:
    """Return any file, Python more often than others."""
    endings = list(corpus)
    (ending,) = rng.choices(endings, [LANGUAGES[ending][1] for ending in endings])
    return rng.choice(corpus[ending])


def _fits(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and SMALLEST <= path.stat().st_size <= LARGEST


def _read(path: Path) -> File | None:
    try:
        text = path.read_text(encoding="utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError):
        return None
    return File(path, LANGUAGES[path.suffix][0], text)
