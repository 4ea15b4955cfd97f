"""Python source files that typing is replayed in: the standard library, or other files already in memory."""

import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

LARGEST = 400_000  # characters; a longer file is data
_SKIPPED = frozenset(("_vendor", "vendor", "vendored", "third_party", "externals", "site-packages", "node_modules"))


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file with LF line ends."""

    package: str
    path: str
    text: str


def standard_library() -> list[SourceFile]:
    """Return the top-level modules of this Python's standard library."""
    root = Path(sysconfig.get_path("stdlib"))
    return list(decoded("stdlib", ((path.name, path.read_bytes()) for path in sorted(root.glob("*.py")))))


def decoded(package: str, members: Iterable[tuple[str, bytes]]) -> Iterator[SourceFile]:
    """Yield the members that are UTF-8 text of a usual size, except vendored ones."""
    for path, data in members:
        if _SKIPPED.isdisjoint(PurePosixPath(path).parts):
            try:
                text = data.decode("utf-8").replace("\r\n", "\n")
            except UnicodeDecodeError:
                continue
            if text.strip() and len(text) <= LARGEST:
                yield SourceFile(package, path, text)
