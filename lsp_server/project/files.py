"""A project's own files: lists what git would list, and reads their text."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from infill_engine.errors import InputError
from infill_engine.text.languages import all_entries

LARGEST_BYTES = 1_000_000
MOST_LISTED = 200_000  # files examined; a larger folder is probably not one project
LONGEST_MEAN_LINE = 200  # characters; a file above this is probably generated
GIT_SECONDS = 60.0


def listed(root: Path, skipped: Counter[str]) -> Iterator[PurePosixPath]:
    """List the relative paths that git lists. Without git, list all files outside hidden and third-party folders.

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


def _walked(root: Path, skipped: Counter[str]) -> Iterator[PurePosixPath]:
    def unreadable(_error: OSError) -> None:
        skipped["folders that cannot be read"] += 1

    for folder, folders, names in os.walk(root, onerror=unreadable):
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


def read_source(path: Path, skipped: Counter[str]) -> str | None:
    """Return the text with LF line ends. If the file is unsuitable, count the reason in `skipped` and return None."""
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
