"""How other names change when one name replaces another: other cases of it, and longer names that contain it."""

import re
from collections.abc import Iterator, Mapping

from infill_engine.text.languages import language as language_named

LEAST_PART = 3  # letters; a shorter part of a name is not exchanged by itself

_HUMP = re.compile(r"[A-Z]*[a-z0-9]+|[A-Z]+|.")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")


def exchanged_names(names: Mapping[str, str], language: str = "") -> dict[str, str]:
    """Map names there to names here: names that differ, their other cases, and the one part in which two names
    differ."""
    exchanged: dict[str, str] = {}
    by_parts = language_named(language).lexical.parts_names
    for there, own in names.items():
        if there == own:
            continue
        for one, other in (
            (there, own),
            (there.strip("_"), own.strip("_")),
            (there.upper(), own.upper()),
            (_pascal(there), _pascal(own)),
        ):
            exchanged.setdefault(one, other)
        parts = [pair for pair in zip(there.split("_"), own.split("_"), strict=False) if pair[0] != pair[1]]
        if len(parts) == 1 and there.count("_") == own.count("_") and len(parts[0][0]) >= LEAST_PART:
            exchanged.setdefault(*parts[0])
        if by_parts:
            for one, other in _in_other_cases(there, own):
                exchanged.setdefault(one, other)
    return exchanged


def renamed_word(word: str, exchanged: Mapping[str, str]) -> str:
    """Return the name here for a word there. A part between underscores, hyphens or capitals may be renamed, too."""
    if word in exchanged:
        return exchanged[word]
    if "-" in word:
        return "-".join(renamed_word(part, exchanged) if len(part) >= LEAST_PART else part for part in word.split("-"))
    if "_" in word:
        for there, own in exchanged.items():
            if len(there) >= LEAST_PART and f"_{there}_" in f"_{word}_":
                return f"_{word}_".replace(f"_{there}_", f"_{own}_")[1:-1]
    if word.islower():
        return word
    parts = _HUMP.findall(word)
    return "".join(exchanged.get(part, part) if len(part) >= LEAST_PART else part for part in parts)


def _in_other_cases(there: str, own: str) -> Iterator[tuple[str, str]]:
    """Return both names, and the part in which they differ, in every case style."""
    theirs, ours = _PART.findall(there), _PART.findall(own)
    if not theirs or not ours:
        return
    yield from zip(_cases(theirs), _cases(ours), strict=True)
    if len(theirs) == len(ours):
        differing = [pair for pair in zip(theirs, ours, strict=True) if pair[0].lower() != pair[1].lower()]
        if len(differing) == 1 and len(differing[0][0]) >= LEAST_PART:
            one, other = differing[0]
            yield from ((one.lower(), other.lower()), (one.capitalize(), other.capitalize()))
            yield one.upper(), other.upper()


def _cases(parts: list[str]) -> list[str]:
    lower, capitals = [part.lower() for part in parts], [part.capitalize() for part in parts]
    camel = "".join([lower[0], *capitals[1:]])
    return [camel, "".join(capitals), "_".join(lower), "_".join(lower).upper(), "-".join(lower)]


def _pascal(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
