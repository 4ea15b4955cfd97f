"""A project's own files: lists what git would list, and reads their text."""

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from infill_engine.text.languages import all_entries

LARGEST_BYTES = 1_000_000
MOST_LISTED = 200_000  # files examined; a larger folder is probably not one project
LONGEST_MEAN_LINE = 200  # characters; a file above this is probably generated
GIT_SECONDS = 60.0


def listed(root: Path) -> Iterator[PurePosixPath]:
    """List the relative paths that git lists. Without git, list all files outside hidden and third-party folders."""
    by_git = _listed_by_git(root)
    return _walked(root) if by_git is None else iter(by_git)


def _listed_by_git(root: Path) -> list[PurePosixPath] | None:
    """List tracked and unignored untracked files; None without git or outside a repository."""
    git = _git()
    if git is None:
        return None
    # A repository's configuration may name a program as its file-system monitor. Never run it.
    command = [git, "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if ran.returncode:
        return None
    return [PurePosixPath(os.fsdecode(name)) for name in sorted(set(ran.stdout.split(b"\0"))) if name]


def _git() -> str | None:
    """Return the full path of git.

    Given a bare name, Windows would run an executable in the current folder, which may be an untrusted repository.
    """
    name = "git.exe" if os.name == "nt" else "git"
    programs = (os.path.join(folder, name) for folder in os.get_exec_path() if os.path.isabs(folder))
    return next((program for program in programs if os.access(program, os.X_OK)), None)


def _walked(root: Path) -> Iterator[PurePosixPath]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not _is_foreign(Path(folder, name)))
        relative = PurePosixPath(Path(folder).relative_to(root).as_posix())
        yield from (relative / name for name in sorted(names) if not name.startswith("."))


def _is_foreign(folder: Path) -> bool:
    """Return whether a folder is hidden, a virtual environment, third-party code or build output."""
    name = folder.name
    # Not Path.exists, which raises for folders without access permission.
    return name.startswith(".") or name in _skipped_folders() or os.path.exists(folder / "pyvenv.cfg")


@cache
def _skipped_folders() -> frozenset[str]:
    return frozenset(folder for entry in all_entries() for folder in entry.project.skipped_folders)


def read_source(path: Path) -> str | None:
    """Return the text with LF line ends; None for a link, a large, binary or empty file, and one that cannot be read.

    A file with lines that nobody wrote by hand counts as binary.
    """
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return None
    is_text = "\0" not in text and bool(text.strip())
    is_short = len(data) <= LARGEST_BYTES and len(text) <= LONGEST_MEAN_LINE * (text.count("\n") + 1)
    return text if is_text and is_short else None
