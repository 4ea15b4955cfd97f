"""Drafts by declaration: the name that is due at the cursor, if the file declares only one that may stand there.

services:
  db: …
  web:
    depends_on:
      - |        `db` is the only other service
"""

import re
from collections import Counter
from collections.abc import Iterator

from infill_engine.text.languages import language as language_named
from infill_engine.text.languages.record import Code, Reference
from infill_engine.text.lines import indent_of, split
from infill_engine.types import Draft

SURE = 0.9  # confidence in the only name
SEARCHED_CHARS = 40_000  # on each side of the cursor
PLACE_CHARS = 1_000  # before the cursor that may show which name is due
MOST = 4
_LEFT = re.compile(r"[^\s,;]*\Z")
_RIGHT = re.compile(r"""[^\s,;"')>]*["')>]?""")
_KEY = re.compile(r"([\w.-]+)")


def find_names(before: str, after: str, language: str) -> list[Draft]:
    """Return the names that are due between two texts, most frequent first."""
    if after[:1].isalnum():
        return []
    known = language_named(language)
    for reference in known.references:
        at = reference.at.search(before[-PLACE_CHARS:])
        if at is not None:
            part = at["part"]
            above, below = before[: len(before) - len(part)][-SEARCHED_CHARS:], after[:SEARCHED_CHARS]
            listed = frozenset(_KEY.findall(at.group()[: len(at.group()) - len(part)]))
            if reference.siblings:
                names = Counter(_siblings(above, below, reference, at.group().count("\n")))
            else:
                names = Counter(_declared(above, below, reference, known.code))
            return _drafts({name: count for name, count in names.items() if name not in listed}, part, after, reference)
    return []


def _drafts(names: dict[str, int], part: str, after: str, reference: Reference) -> list[Draft]:
    best = sorted((name for name in names if name.startswith(part) and name != part), key=lambda name: -names[name])
    alone = len(best) == 1 or (reference.once and len(best) > 1 and names[best[0]] > 1 == names[best[1]])
    share = 1 / max(len(best), 1)
    suffix = "" if after.startswith(reference.suffix) else reference.suffix
    return [
        Draft(name[len(part) :] + suffix, share=share, sure=SURE if alone and name == best[0] else 0.0)
        for name in best[:MOST]
    ]


def _declared(above: str, below: str, reference: Reference, code: Code) -> Iterator[str]:
    """Yield the declared names that do not stand between the same texts elsewhere already."""
    left, right = _LEFT.search(above), _RIGHT.match(below)
    before, after = left.group() if left else "", right.group() if right else ""
    text = above + after + below[len(after) :]
    own = {code.defined(line) for line in split(text)}
    for found in reference.names.finditer(text):
        taken = reference.once and f"{before}{found[1]}{after}" in text
        if not taken and found.group().strip("( ") not in own:
            yield found[1]


def _siblings(above: str, below: str, reference: Reference, height: int) -> Iterator[str]:
    """Yield the names beside the one whose value has begun `height` lines above the cursor."""
    rows = split(above)
    at = len(rows) - 1 - height
    depth = len(indent_of(rows[at]))
    owner = next((row for row in range(at, -1, -1) if rows[row].strip() and len(indent_of(rows[row])) < depth), None)
    if owner is None:
        return
    level = len(indent_of(rows[owner]))
    yield from _names_at(reversed(rows[:owner]), level, reference)
    yield from _names_at(iter(split(below)[1:]), level, reference)


def _names_at(rows: Iterator[str], level: int, reference: Reference) -> Iterator[str]:
    """Yield the names at an indentation, up to a line that is indented less."""
    for line in rows:
        depth = len(indent_of(line))
        if line.strip() and depth < level:
            return
        if depth == level and (found := reference.names.match(line)) is not None:
            yield found[1]
