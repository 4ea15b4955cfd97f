"""Drafts by the project's files: the path that is due in an import or a link, if only one file fits."""

import re
from collections.abc import Iterator, Sequence
from posixpath import dirname, join, normpath, splitext

from infill_engine.context.drafts.names import SEARCHED_CHARS, SURE
from infill_engine.text.languages import language_of, related
from infill_engine.text.lines import first_line, last_line
from infill_engine.types import Draft

MOST = 4
_PLACE = re.compile(
    r"""\b(?:(?P<bare>require_relative)|import|from|require\w*|include\w*|href|src|url|source|input|export)\b.*["'(<{]"""
    r"""(?P<folder>(?:[\w.@-]+/)*)(?P<part>[\w.-]*)\Z"""
)
_RIGHT = re.compile(r"""(?P<suffix>(?:\.\w+)?)["')>}]""")
_WORD = re.compile(r"\w{3,}")
_UNMARKED = re.compile(r"[\W_]")


def find_paths(before: str, after: str, language: str, own: str, paths: Sequence[str]) -> list[Draft]:
    """Return the names that are due between two texts of the file `own`; `paths` are those of the project."""
    left, right = last_line(before), first_line(after)
    place, end = _PLACE.search(left), _RIGHT.match(right)
    if not own or not paths or place is None or end is None:
        return []
    folder, part, suffix = place["folder"], place["part"], end["suffix"]
    others = before[: len(before) - len(left)][-SEARCHED_CHARS:] + after[:SEARCHED_CHARS]
    names = [
        name
        for name in dict.fromkeys(
            _names(own, folder, suffix, "" if place["bare"] is None and not folder.startswith(".") else language, paths)
        )
        if name.startswith(part) and name != part and f"{folder}{name}{suffix}" not in others
    ]
    words = [_mentioned(text) for text in (left, others)]
    named = next((some for known in words if (some := [name for name in names if _plain(name) in known])), names)
    share = 1 / max(len(named), 1)
    return [Draft(name[len(part) :], share=share, sure=SURE * (len(named) == 1)) for name in named[:MOST]]


def _names(own: str, folder: str, suffix: str, language: str, paths: Sequence[str]) -> Iterator[str]:
    """Yield what may be written in a folder, for each file there other than `own`: its name up to `suffix`.

    With a `language`, an import names a file in a related language without its suffix.
    """
    at = normpath(join(dirname(own), folder))
    for path in paths:
        if path == own or normpath(dirname(path) or ".") != at:
            continue
        name = path.rpartition("/")[2]
        if suffix:
            if name.endswith(suffix):
                yield name[: -len(suffix)]
        elif not language:
            yield name
        elif language_of(name) in related(language):
            yield splitext(name)[0]


def _mentioned(text: str) -> frozenset[str]:
    """Return the names in a text, and what begins them: C has no modules, so `stack_push` is in `stack.h`."""
    words = _WORD.findall(text)
    return frozenset(map(_plain, (*words, *(word.partition("_")[0] for word in words))))


def _plain(name: str) -> str:
    return _UNMARKED.sub("", splitext(name)[0]).lower()
