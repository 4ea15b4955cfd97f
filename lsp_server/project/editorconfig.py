"""The indentation that `.editorconfig` files ask for; see editorconfig.org."""

import re
from collections.abc import Iterator
from configparser import ConfigParser, Error
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

NAME = ".editorconfig"
LARGEST_BYTES = 100_000
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")


def indentation_of(document: Path) -> str:
    """Return a level of indentation of a file: a tab or some blanks; "" if no `.editorconfig` says it."""
    found: dict[str, str] = {}
    for file, config in _files(document):
        for section in config.sections():
            if _matches(document.relative_to(file.parent).as_posix(), section):
                found = {**found, **{key: value.strip().lower() for key, value in config.items(section)}}
    style, size = found.get("indent_style", ""), found.get("indent_size", "")
    width = size if size.isdecimal() else found.get("tab_width", "")
    if style == "tab" or size == "tab":
        return "\t"
    return " " * int(width) if width.isdecimal() and 0 < int(width) <= 16 else ""


def _files(document: Path) -> Iterator[tuple[Path, ConfigParser]]:
    """Yield the files that apply to a document, the outermost first."""
    found: list[tuple[Path, ConfigParser]] = []
    for folder in document.parents:
        config = ConfigParser(strict=False, interpolation=None, default_section="", delimiters=("=",))
        try:
            text = (folder / NAME).read_text("utf-8", "replace")[:LARGEST_BYTES]
            config.read_string(f"[/]\n{text}")
        except (OSError, Error):
            continue
        found.append((folder / NAME, config))
        if config.get("/", "root", fallback="").lower() == "true":
            break
    return reversed(found)


def _matches(path: str, section: str) -> bool:
    """Return whether a path relative to the file's folder matches the name of a section."""
    parts = _CHOICE.split(section)  # texts, with the choices between them
    choices = [part.split(",") if number % 2 else [part] for number, part in enumerate(parts)]
    name = path.rpartition("/")[2]
    patterns = ("".join(each).replace("**", "*") for each in product(*choices))
    return any(
        fnmatchcase(path, pattern.lstrip("/")) if "/" in pattern else fnmatchcase(name, pattern) for pattern in patterns
    )
