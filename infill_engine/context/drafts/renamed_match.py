"""Drafts by analogy: the continuation of a line of the same shape, with its names exchanged for those used here.

    self.width = width        elsewhere
    self.height = |           here: `width` there is `height` here, so `height` follows

Lines above the hole are compared too. The more of them correspond, the more the analogy counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from infill_engine.context.drafts.continuation import Around, Votes, continuation, most_looked_at
from infill_engine.context.line_shapes import (
    Outline,
    is_name,
    names_in,
    outline,
    shape_of,
    token_pattern,
    word_pattern,
)
from infill_engine.context.name_exchange import exchanged_names, renamed_word
from infill_engine.text import lines
from infill_engine.types import Draft, Hole

ABOVE_CHARS = 60_000  # characters searched in the text up to the cursor,
BELOW_CHARS = 40_000  # in the text after it,
OTHER_CHARS = 300_000  # and in each other source
MOST_LEFT = 500  # characters on the hole's line: a longer line has no analogy
MOST_PLACES = 12  # places examined for one shape in one source
RENAMED = 3.0  # times the weight if names in the text were exchanged,
LINE = 2.0  # for each matching line above,
SAME_NAME = 1.5  # for each name that is the same on both sides,
AGREEING = 3.0  # if the text after the continuation is the same as after the hole,
FURTHER_PLACE = 0.8  # for each place that is nearer,
FURTHER_SOURCE = 0.7  # and for each source that is nearer


@dataclass(frozen=True, slots=True)
class _Like:
    """A place that resembles the hole: its source, its line number, and the offset that corresponds to the hole."""

    source: int
    line: int
    at: int
    names: Mapping[str, str]  # there -> here
    weight: float


def find_analogies(around: Around, sources: Sequence[str], hole: Hole, limit: int, language: str = "") -> list[Draft]:
    """Return at most `limit` different drafts for the hole with this context, best first; see `find_drafts`."""
    if len(around.left) > MOST_LEFT:
        return []
    base, partial_word = _without_partial_word(around.left, language)
    outlines = _outlines(sources, language)
    votes = Votes()
    seen: set[tuple[int, int]] = set()
    for count in range(len(around.above), -1, -1):
        here = [*reversed(around.above[:count]), base]
        for like in _likes(here, outlines, language):
            if (like.source, like.line) in seen:
                continue
            seen.add((like.source, like.line))
            text, renamed, agrees = _carried_over(outlines[like.source], like, around, hole, language)
            if text.startswith(partial_word):
                weight = like.weight * LINE**count * (RENAMED if renamed else 1.0) * (AGREEING if agrees else 1.0)
                votes.vote(text[len(partial_word) :], sum(map(len, here)), weight)
    return [Draft(text, analogous=matched, share=share) for text, matched, share in votes.best(limit)]


def _without_partial_word(left: str, language: str) -> tuple[str, str]:
    at = next((word.start() for word in word_pattern(language).finditer(left) if word.end() == len(left)), len(left))
    return left[:at], left[at:]


def _outlines(sources: Sequence[str], language: str) -> list[Outline]:
    """Return the searched part of each source. It has whole lines only, so it stays the same while a line is typed."""
    before, after, *others = sources
    above = before[: len(before) - len(lines.last_line(before))]
    below = after[len(lines.first_line(after)) :]
    own = [outline(above[-ABOVE_CHARS:], language), outline(below[:BELOW_CHARS], language)]
    return [*own, *(outline_of_other(source, language) for source in others)]


def outline_of_other(source: str, language: str = "") -> Outline:
    """Return the searched part of another file. It is cached, so that a long one can be prepared in advance."""
    return outline(source[:OTHER_CHARS], language)


def _likes(here: list[str], outlines: Sequence[Outline], language: str) -> Iterator[_Like]:
    """Yield the places whose lines have the same shape as the lines `here`, the last of which ends at the hole."""
    if not any(names_in(line, language) for line in here):
        return  # no name that could be exchanged
    pattern = token_pattern(language)
    tokens = [pattern.findall(line) for line in here]
    blanks = len(here[-1]) - len(here[-1].rstrip())
    shape = shape_of("\n".join(here), language)
    for source, searched in enumerate(outlines):
        places = searched.places(shape, backwards=source == 0)
        for rank, first in enumerate(islice(places, MOST_PLACES)):
            last = first + len(here) - 1
            if last >= len(searched.starts):
                continue  # the lines above match, but no line follows them yet
            theirs = [
                list(islice(pattern.finditer(searched.line(first + number)), len(own)))
                for number, own in enumerate(tokens)
            ]
            names = _names(theirs, tokens, language)
            if names is not None:
                end = theirs[-1][-1].end() + blanks if theirs[-1] else 0
                same = sum(there == own for there, own in names.items())
                weight = SAME_NAME**same * FURTHER_PLACE**rank * FURTHER_SOURCE**source
                yield _Like(source, last, searched.starts[last] + end, names, weight)


def _names(
    theirs: Sequence[Sequence[re.Match[str]]], ours: Sequence[Sequence[str]], language: str
) -> dict[str, str] | None:
    """Return the name here for each name there; None if a name would have two, or the lines do not match after all."""
    names: dict[str, str] = {}
    for there, own in zip(theirs, ours, strict=True):
        if len(there) < len(own):
            return None
        for found, token in zip(there, own, strict=False):
            name = found.group()
            if is_name(token, language) != is_name(name, language) or names.setdefault(name, token) != token:
                return None
    return names


def _carried_over(searched: Outline, like: _Like, around: Around, hole: Hole, language: str) -> tuple[str, bool, bool]:
    """Return the text that would follow here, whether it differs from the one there, and whether the text after it
    agrees."""
    lead = searched.text[lines.start_of(searched.text, searched.starts[max(0, like.line - 1)]) : like.at]
    rest = searched.text[like.at : like.at + most_looked_at(hole)]
    exchanged = exchanged_names(like.names, language)
    carried = word_pattern(language).sub(lambda found: renamed_word(found.group(), exchanged), rest)
    text, agrees = continuation(lead + carried, len(lead), around, hole)
    return text, not rest.lstrip().startswith(text.lstrip()), agrees
