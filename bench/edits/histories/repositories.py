"""Git repositories of a folder with their licences, divided by name into what is trained on and what is measured."""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SPLITS = ("train", "calibration", "held-out")
SHARES = (0.7, 0.85)  # of the hash's range: below the first is train, above the second is held-out

_LICENCE_FILE = re.compile(r"(?i)^(licen[cs]e|copying|unlicense)([.-](md|txt|rst|mit|apache))?$")
# A phrase of each permissive licence that its text has and no other licence has.
_PHRASES = {
    "Apache-2.0": r"Apache License,?\s+Version 2\.0",
    "MIT": r"Permission is hereby granted, free of charge, to any person obtaining",
    "ISC": r"Permission to use, copy, modify,? and(/or)? distribute this software for any purpose",
    "BSD": r"Redistribution and use in source and binary forms",
    "Unlicense": r"This is free and unencumbered software released into the public domain",
    "Zlib": r"This software is provided 'as-is', without any express or implied",
    "BSL-1.0": r"Boost Software License - Version 1\.0",
}
_RESTRICTED = re.compile(r"GNU (LESSER |AFFERO )?GENERAL PUBLIC LICENSE|Mozilla Public License|Commons Clause", re.I)


@dataclass(frozen=True, slots=True)
class Repository:
    """A git directory. `licence` is "" unless its licence files are permissive without exception."""

    name: str  # owner/name
    folder: Path
    licence: str

    @property
    def split(self) -> str:
        """The name in SPLITS. It depends on the repository's name only."""
        share = int.from_bytes(hashlib.sha256(self.name.lower().encode()).digest()[:4]) / 2**32
        return SPLITS[sum(share >= bound for bound in SHARES)]


def repositories(folder: Path) -> Iterator[Repository]:
    """Yield the git directories `owner+name/` or `owner+name/repo/` of a folder, by name."""
    for path in sorted(folder.iterdir()):
        found = next((each for each in (path, path / ".git", path / "repo") if (each / "HEAD").is_file()), None)
        if found is not None:
            yield Repository(path.name.replace("+", "/", 1), found, _licence(found))


def git(folder: Path, *command: str) -> str:
    """Return what a git command prints. Raises CalledProcessError."""
    return subprocess.run(
        ["git", f"--git-dir={folder}", *command], capture_output=True, check=True, encoding="utf-8", errors="replace"
    ).stdout


def _licence(folder: Path) -> str:
    files = [name for name in git(folder, "ls-tree", "--name-only", "HEAD").split("\n") if _LICENCE_FILE.match(name)]
    texts = [" ".join(git(folder, "show", f"HEAD:{name}").split()) for name in files]
    if not texts or any(_RESTRICTED.search(text) for text in texts):
        return ""
    names = [next((name for name, phrase in _PHRASES.items() if re.search(phrase, text)), "") for text in texts]
    return " AND ".join(dict.fromkeys(names)) if all(names) else ""
