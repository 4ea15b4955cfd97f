"""Reads the commits of a repository as hunks: what a change did to each of its files, in order.

The patches come from one `git log`, the texts from one `git cat-file --batch`. A replacement of several lines by as
many similar ones is a hunk for each line, because people edit such lines one after the other.
"""

import io
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from types import TracebackType

from infill_engine.text.languages import language_of
from train.corpus.packages import usable

MOST_COMMITS = 4000  # the newest
MOST_HUNKS = 16  # in a commit; more is a bulk change
MOST_LINES = 20  # removed or inserted by a hunk
LONGEST_FILE = 60_000  # characters
LEAST_SIMILAR = 0.5  # of two lines, one of which became the other
_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_INDEX = re.compile(r"index ([0-9a-f]{40})\.\.([0-9a-f]{40})")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a file that became others. `row` counts from 0 in the text in which all hunks before it are made."""

    row: int
    old: str
    new: str

    @property
    def says_something(self) -> bool:
        """Whether more than blanks changes."""
        return self.old.split() != self.new.split()

    @property
    def growth(self) -> int:
        """How many lines longer the text becomes."""
        return len(lines_of(self.new)) - len(lines_of(self.old))


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file before a commit, and its hunks from top to bottom."""

    path: str
    language: str
    text: str
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """The files of a commit that are handwritten code in a language with full support."""

    id: str
    files: tuple[ChangedFile, ...]


def commits(folder: Path, languages: Sequence[str]) -> Iterator[Commit]:
    """Yield the commits of a git directory that change at least one and at most MOST_HUNKS places, newest first."""
    with _Texts(folder) as texts:
        for identifier, patches in _patches(folder):
            files = []
            for path, old, new, places in patches:
                known = language_of(path) in languages or "." not in path.rpartition("/")[2]  # perhaps a script
                if not known or len(places) > MOST_HUNKS:
                    continue
                before = texts.read(old)
                language = language_of(path, before[:200].partition(b"\n")[0].decode("utf-8", "replace"))
                if language is not None and language in languages:
                    changed = _changed_file(path, language, before, texts.read(new), places)
                    files += [] if changed is None else [changed]
            if 0 < sum(len(file.hunks) for file in files) <= MOST_HUNKS:
                yield Commit(identifier, tuple(files))


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends. Only a line feed ends a line, as in git."""
    return list(io.StringIO(text, newline="\n"))


def made(text: str, hunk: Hunk) -> str:
    """Return the text with a hunk made. Raises ValueError if its old lines are not there."""
    lines = lines_of(text)
    count = len(lines_of(hunk.old))
    if "".join(lines[hunk.row : hunk.row + count]) != hunk.old:
        raise ValueError("the hunk does not fit")
    return "".join((*lines[: hunk.row], hunk.new, *lines[hunk.row + count :]))


def reversed_hunk(hunk: Hunk) -> Hunk:
    """Return the hunk that takes another one back."""
    return Hunk(hunk.row, hunk.new, hunk.old)


Place = tuple[int, int, int, int]  # the first row and the number of lines, before and after
Patch = tuple[str, str, str, list[Place]]  # path, blob before, blob after, places


def _changed_file(path: str, language: str, old: bytes, new: bytes, places: Sequence[Place]) -> ChangedFile | None:
    before, after = usable(path, old, language), usable(path, new, language)
    if before is None or after is None or max(len(before), len(after)) > LONGEST_FILE:
        return None
    old_lines, new_lines = lines_of(before), lines_of(after)
    hunks: list[Hunk] = []
    for old_row, old_count, new_row, new_count in places:
        if max(old_count, new_count) > MOST_LINES:
            return None
        removed, inserted = old_lines[old_row : old_row + old_count], new_lines[new_row : new_row + new_count]
        if not all(line.endswith("\n") for line in (*removed, *inserted)):
            return None  # the end of a file without a line break
        hunks += _divided(new_row, removed, inserted)
    text = before
    try:
        for hunk in hunks:
            text = made(text, hunk)
    except ValueError:  # other line ends than git sees
        return None
    if text != after or not any(hunk.says_something for hunk in hunks):
        return None
    return ChangedFile(path, language, before, tuple(hunks))


def _divided(row: int, removed: Sequence[str], inserted: Sequence[str]) -> list[Hunk]:
    if len(removed) == len(inserted) > 1:
        pairs = list(zip(removed, inserted, strict=True))
        if all(_is_similar(old, new) for old, new in pairs):
            return [Hunk(row + at, old, new) for at, (old, new) in enumerate(pairs) if old != new]
    return [Hunk(row, "".join(removed), "".join(inserted))]


def _is_similar(old: str, new: str) -> bool:
    return SequenceMatcher(None, old.strip(), new.strip(), autojunk=False).ratio() >= LEAST_SIMILAR


def _patches(folder: Path) -> Iterator[tuple[str, list[Patch]]]:
    """Yield each commit's id with the modified files and the places that it changes."""
    command = ["git", f"--git-dir={folder}", "-c", "core.quotePath=false", "log", "-p", "-U0", "--histogram"]
    command += ["--no-merges", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--full-index"]
    command += ["--diff-filter=M", f"-n{MOST_COMMITS}", "--format=commit %H"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as process:
        assert process.stdout is not None
        identifier, patches = "", list[Patch]()
        path = old = new = ""
        for line in process.stdout:
            if line.startswith("commit "):
                if patches:
                    yield identifier, patches
                identifier, patches = line.split()[1], []
            elif line.startswith("diff --git "):
                path = old = new = ""
            elif found := _INDEX.match(line):
                old, new = found.groups()
            elif line.startswith("+++ b/") and not path:
                path = line[6:].rstrip("\n").rstrip("\t")
                patches.append((path, old, new, []))
            elif (found := _HEADER.match(line)) and path:
                patches[-1][3].append(_place(found))
        if patches:
            yield identifier, patches


def _place(header: re.Match[str]) -> Place:
    first, count, new_first, new_count = (1 if group is None else int(group) for group in header.groups())
    return first - (count > 0), count, new_first - (new_count > 0), new_count


class _Texts:
    """Blobs of a repository, by id."""

    def __init__(self, folder: Path) -> None:
        command = ["git", f"--git-dir={folder}", "cat-file", "--batch"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> "_Texts":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def read(self, blob: str) -> bytes:
        """Return a blob's content; b"" for one that the repository lacks."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(blob.encode() + b"\n")
        self._process.stdin.flush()
        header = self._process.stdout.readline().split()
        if len(header) != 3:
            return b""
        content = self._process.stdout.read(int(header[2]))
        self._process.stdout.read(1)
        return content
