"""A project's own source files as texts: what git would list, less what may hold secrets or is no source.

Excluded files are not even opened. The order is by a hash of the path, so that any first so many are a fair sample and
the files held out stay the same ones while a project grows.
"""

import hashlib
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from infill_engine.errors import InputError
from infill_engine.syntax import GRAMMARS, language_of
from lsp_server.excludes import is_excluded

LARGEST_BYTES = 1_000_000
MOST_LISTED = 200_000  # files looked at; beyond, the folder is hardly one project
LONGEST_MEAN_LINE = 200  # characters; above, a file was not written by hand
GIT_SECONDS = 60.0
HELD_OUT = 0.12  # of the characters, and
HELD_OUT_MOST = 0.15
_DATA = frozenset(("json", "jsonc"))
_SKIPPED_FOLDERS = frozenset(
    "node_modules bower_components __pycache__ venv env virtualenv site-packages build dist out target vendor".split()
)


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """One text with LF line ends. `path` is relative to the project."""

    path: PurePosixPath
    language: str
    text: str


@dataclass(slots=True)
class Project:
    """The files read, in the order of their paths' hashes, Python first, and how many were not, by the reason why."""

    root: Path
    files: list[ProjectFile] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    beyond: int = 0  # source files not read because the rest is as much as can be learned

    @property
    def characters(self) -> int:
        return sum(len(file.text) for file in self.files)

    def split(self) -> tuple[list[ProjectFile], list[ProjectFile]]:
        """Files to learn from, and those held out to judge by: an eighth, or the smaller of two.

        Raises InputError if there are fewer than two.
        """
        if len(self.files) < 2:
            raise InputError(
                f"{self.root} has {_count(len(self.files), 'source file')} to learn from; at least two are needed, "
                + f"because one is held out to see whether it helped.{self.reasons()}"
            )
        held_out: set[PurePosixPath] = set()
        characters = 0
        for file in sorted(self.files, key=lambda file: _digest(file.path)):
            if characters + len(file.text) <= HELD_OUT_MOST * self.characters:
                held_out.add(file.path)
                characters += len(file.text)
            if characters >= HELD_OUT * self.characters:
                break
        held_out = held_out or {min(self.files, key=lambda file: len(file.text)).path}
        return (
            [file for file in self.files if file.path not in held_out],
            [file for file in self.files if file.path in held_out],
        )

    def reasons(self) -> str:
        """Why files were left out, as a sentence of its own; "" if none were."""
        if not self.skipped:
            return ""
        return " Left out: " + ", ".join(f"{number:,} {why}" for why, number in self.skipped.most_common()) + "."


def read_project(root: Path, excludes: tuple[str, ...], most_characters: int) -> Project:
    """Reads a project's sources up to so many characters. Raises InputError for a folder that cannot be listed."""
    project = Project(root)
    seen: set[bytes] = set()
    characters = 0
    for path, language in sorted(_sources(root, excludes, project.skipped), key=_python_first):
        if characters >= most_characters:
            project.beyond += 1
            continue
        text = read_source(root / path, project.skipped)
        if text is None:
            continue
        digest = hashlib.sha256(text.encode()).digest()
        if digest in seen:
            project.skipped["copies of another"] += 1
            continue
        seen.add(digest)
        project.files.append(ProjectFile(path, language, text))
        characters += len(text)
    return project


def _sources(root: Path, excludes: tuple[str, ...], skipped: Counter[str]) -> Iterator[tuple[PurePosixPath, str]]:
    """Relative paths and languages of the files that may be read, judged by their names."""
    for number, path in enumerate(listed(root, skipped)):
        if number >= MOST_LISTED:
            skipped[f"or more after the first {MOST_LISTED:,} files"] = 1
            return
        language = language_of(path.name)
        if is_excluded((root / path).as_uri(), excludes, (str(root),)):
            skipped["excluded (what may hold secrets is, too)"] += 1
        elif language not in GRAMMARS or language in _DATA:
            skipped["not in a programming language known here"] += 1
        else:
            yield path, language


def listed(root: Path, skipped: Counter[str]) -> Iterator[PurePosixPath]:
    """Relative paths of what git lists there, or where there is no git, of all but hidden and foreign folders.

    Raises InputError for a folder that cannot be listed.
    """
    try:
        with os.scandir(root):
            pass
    except NotADirectoryError:
        raise InputError(f"{root} is not a folder; give the folder of a project") from None
    except FileNotFoundError:
        raise InputError(f"{root} does not exist; give the folder of a project") from None
    except OSError as error:
        raise InputError(f"{root} cannot be read ({error.strerror}); give a folder that you may read") from error
    by_git = _listed_by_git(root)
    return _walked(root, skipped) if by_git is None else iter(by_git)


def _listed_by_git(root: Path) -> list[PurePosixPath] | None:
    """What git tracks, and would track; None without git or outside of a repository."""
    git = _git()
    if git is None:
        return None
    # A repository's configuration may name a program as its file-system monitor: none is run.
    command = [git, "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if ran.returncode:
        return None
    return [PurePosixPath(os.fsdecode(name)) for name in sorted(set(ran.stdout.split(b"\0"))) if name]


def _git() -> str | None:
    """Where git is. Of a bare name Windows runs what the current folder has, which may be a repository of anybody's."""
    name = "git.exe" if os.name == "nt" else "git"
    programs = (os.path.join(folder, name) for folder in os.get_exec_path() if os.path.isabs(folder))
    return next((program for program in programs if os.access(program, os.X_OK)), None)


def _walked(root: Path, skipped: Counter[str]) -> Iterator[PurePosixPath]:
    def unreadable(_error: OSError) -> None:
        skipped["folders that cannot be read"] += 1

    for folder, folders, names in os.walk(root, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not _is_foreign(Path(folder, name)))
        relative = PurePosixPath(Path(folder).relative_to(root).as_posix())
        yield from (relative / name for name in sorted(names) if not name.startswith("."))


def _is_foreign(folder: Path) -> bool:
    """Whether a folder is hidden, an environment, or holds what others wrote or a build made."""
    name = folder.name
    # Not Path.exists, which raises for folders that may not be entered.
    return name.startswith(".") or name in _SKIPPED_FOLDERS or os.path.exists(folder / "pyvenv.cfg")


def read_source(path: Path, skipped: Counter[str]) -> str | None:
    """The text with LF line ends; None, and the reason counted, if it is none to learn from."""
    try:
        if path.is_symlink() or not path.is_file():
            skipped["links or no regular files"] += 1
            return None
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except OSError:
        skipped["that cannot be read"] += 1
        return None
    if len(data) > LARGEST_BYTES:
        skipped["larger than 1 MB"] += 1
        return None
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        skipped["binary or not in UTF-8"] += 1
    elif not text.strip():
        skipped["empty"] += 1
    elif len(text) > LONGEST_MEAN_LINE * (text.count("\n") + 1):
        skipped["with lines that nobody wrote by hand"] += 1
    else:
        return text
    return None


def _python_first(source: tuple[PurePosixPath, str]) -> tuple[bool, bytes]:
    path, language = source
    return language != "python", _digest(path)


def _digest(path: PurePosixPath) -> bytes:
    return hashlib.sha256(os.fsencode(str(path))).digest()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number or 'no'} {noun}s"


def characters_of(files: Sequence[ProjectFile]) -> int:
    """Of all texts together."""
    return sum(len(file.text) for file in files)
