"""Drafts by copying: find the text left of the hole elsewhere in the project, and take the text after it.

The longest match does not decide alone: every earlier occurrence votes for its continuation with a weight that grows
with the length of the match. Continuations followed by the same text as the hole count for more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infill_engine.context.drafts.continuation import TOKEN, Around, Votes, continuation
from infill_engine.text import lines
from infill_engine.types import Draft, Hole

# characters searched in all sources together, nearest first: about 0.1 ms for each key that does not occur
SEARCHED_CHARS = 1_000_000
LEAST_TOKENS = 1  # minimum match left of the hole in whole tokens, and
LEAST_CHARS = 4  # in characters: shorter matches are chance. `Draft.copied` lets the ranking require more
MOST_OCCURRENCES = 24  # places examined for one key
MOST_TOKENS = 24  # characters left of the hole, on its line
VOTE_PER_CHAR = 1.3  # the factor on a vote's weight for each further matched character
MOST_MATCHED = 90  # characters beyond which a match is practically certain
AGREEING = 3.0  # times the weight if the text after the continuation is the same as after the hole
FURTHER_SOURCE = 0.8  # times the weight for each source further away


@dataclass(frozen=True, slots=True)
class _Section:
    """The searched part of a source. With `ends_at_cursor`, later text is nearer."""

    text: str
    start: int
    end: int
    ends_at_cursor: bool


def find_copies(around: Around, sources: Sequence[str], hole: Hole, limit: int) -> list[Draft]:
    """Return at most `limit` different drafts for the hole with this text around it, best first; see `find_drafts`."""
    sections = _sections(sources)
    votes = Votes()
    seen: set[tuple[int, int]] = set()
    for key, whole_line in _keys(around, sections):
        if len(votes) >= limit:
            break
        for index, at in _occurrences(key, whole_line, around.left, sections):
            if (index, at) in seen:
                continue
            seen.add((index, at))
            source = sections[index].text
            matched = _matched(source, at, around)
            if matched < LEAST_CHARS:
                continue
            text, agrees = continuation(source, at, around, hole)
            weight = VOTE_PER_CHAR ** min(matched, MOST_MATCHED) * FURTHER_SOURCE**index
            votes.vote(text, matched, weight * (AGREEING if agrees else 1.0))
    return [Draft(text, copied=matched, share=share) for text, matched, share in votes.best(limit)]


def _sections(sources: Sequence[str]) -> list[_Section]:
    found = []
    left = SEARCHED_CHARS
    for index, text in enumerate(sources):
        size = min(len(text), left)
        start = len(text) - size if index == 0 else 0
        found.append(_Section(text, start, start + size, index == 0))
        left -= size
    return found


def _keys(around: Around, sections: list[_Section]) -> Iterator[tuple[str, bool]]:
    """Yield the keys to search for, most specific first. True marks a key that is the whole line above the hole."""
    left, above = around.left, around.above
    if above and len(above[0]) >= LEAST_CHARS:
        yield above[0], True
    starts = [token.start() for token in TOKEN.finditer(left)][-MOST_TOKENS:]
    most = len(starts) - LEAST_TOKENS
    if most < 0 or not left:
        return
    low = _longest(starts, left, sections)
    while low <= most:
        yield left[starts[low] :], False
        low = max(low + 1, (low + most + 1) // 2) if low < most else most + 1


def _longest(starts: list[int], left: str, sections: list[_Section]) -> int:
    """Return the index in `starts` of the longest text that occurs in the sources; len(starts) if none does.

    A text that occurs is found quickly, and a text that does not costs a full search. So this tries longer texts in
    growing steps, and then bisects between the last that occurs and the first that does not.
    """
    occurs, misses, step = len(starts), -1, 1
    while occurs - misses > 1:
        tried = max(occurs - step, misses + 1) if misses < 0 else (occurs + misses) // 2
        if any(_occurs(left[starts[tried] :], section) for section in sections):
            occurs = tried
            step *= 2
        else:
            misses = tried
    return occurs


def _occurs(key: str, section: _Section) -> bool:
    # The text up to the cursor ends with every key; that occurrence has no continuation.
    return section.text.find(key, section.start, section.end - section.ends_at_cursor) >= 0


def _occurrences(key: str, whole_line: bool, left: str, sections: list[_Section]) -> Iterator[tuple[int, int]]:
    """Yield the places in the sources that correspond to the cursor: section number and offset, nearest first."""
    left_to_find = MOST_OCCURRENCES
    for index, section in enumerate(sections):
        start, end, text = section.start, section.end - section.ends_at_cursor, section.text
        first = text.find(key, start, end)  # fast; a search from the right for a missing key is slow
        while left_to_find and first >= 0 and start <= end:
            if section.ends_at_cursor:
                at = text.rfind(key, first, end)
                end = at + len(key) - 1
            else:
                at = text.find(key, start, end)
                start = at + 1
            if at < 0:
                break
            left_to_find -= 1
            if whole_line:
                below = _below(text, at, len(key))
                if below >= 0 and text.startswith(left, below):
                    yield index, below + len(left)
            elif not (key[0].isalnum() and at and text[at - 1].isalnum()):
                yield index, at + len(key)


def _below(text: str, at: int, length: int) -> int:
    """Return where the next line's text begins if `text[at : at + length]` is a whole line, else -1."""
    if text[lines.start_of(text, at) : at].strip():
        return -1
    end = lines.LINE_END.search(text, at + length)
    if end is None or text[at + length : end.start()].strip():
        return -1
    place = end.end()
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _matched(source: str, at: int, around: Around) -> int:
    """Return how many characters before `source[at]` match those before the hole, ignoring indentation and blank
    lines."""
    start = lines.start_of(source, at)
    matched = _common_end(source[start:at].lstrip(), around.left)
    if matched < len(around.left) or source[start:at].strip() != around.left.strip():
        return matched
    for line in around.above:
        end = start - 1
        while end > 0 and source[end].isspace():
            end -= 1
        start = lines.start_of(source, end)
        other = source[start : end + 1].strip()
        if other != line:
            return matched + _common_end(other, line)
        matched += len(line)
    return matched


def _common_end(one: str, other: str) -> int:
    """Return the length of the longest common suffix."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.endswith(other[len(other) - middle :]):
            low = middle
        else:
            high = middle - 1
    return low
