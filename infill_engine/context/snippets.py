"""Project snippets that help to fill a hole: definitions of names near it, and chunks of similar code.

A text is indexed one piece at a time while idle. The snippets for a hole depend on the lines above and below the
cursor's line, so they do not change while a line is typed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, zip_longest
from math import log

from cachetools import LRUCache

from infill_engine.context.definitions import LONGEST_LINE, definitions_in, name_defined
from infill_engine.context.line_shapes import WORD, is_name
from infill_engine.text.languages import language as language_named
from infill_engine.text.languages import language_of
from infill_engine.text.lines import split, with_plain_ends
from infill_engine.types import ProjectText, Surroundings

KEPT = 6  # indexes (about 5 MB each), and documents whose last snippets are kept
CHUNK_LINES, CHUNK_STEP = 12, 6
PIECE_LINES = 24  # lines indexed at once, in about 2 ms
ABOVE, BELOW = 16, 4  # lines around the hole whose names are looked up
NEARER = 0.85  # factor on a name's weight for each line of distance
SHORTEST_NAME = 3
CANDIDATES = 8  # of each kind
LEAST_SHARED = 3  # names of a chunk that occur near the hole
MOST_DEFINITIONS = 4  # definitions of one name; with more, it is unclear which one is meant
STILL_GOOD = 0.6  # share of the value of new snippets that lets the present ones stay
_USED = re.compile(r"(?<![.\w])(?:\w+(?=\()|[A-Z]\w+)|(?<=import )\w+")
_MEMBER = re.compile(r"(?<=\.)\w+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a file. `names` are the names it is chosen for."""

    path: str
    text: str
    names: frozenset[str] = field(default=frozenset(), compare=False)


# picks as many snippets as fit, from a list with the best first
Fit = Callable[[Sequence[Snippet]], tuple[Snippet, ...]]


@dataclass(frozen=True, slots=True)
class Query:
    """A query: names near a hole with their weights, which are higher on nearer lines.

    `used` names are called, imported, or capitalised; `members` follow a dot. `visible` are the names that the windows
    around the hole define themselves.
    """

    names: dict[str, float]
    used: dict[str, float]
    members: dict[str, float]
    visible: frozenset[str]

    @classmethod
    def of(cls, prefix: str, suffix: str, language: str) -> "Query":
        """Return the query of a hole. The cursor's own line is not used."""
        code = language_named(language).code
        above, below = split(prefix)[:-1], split(suffix)[1:]
        around = [*enumerate(above[: -ABOVE - 1 : -1]), *enumerate(below[:BELOW])]
        weighed = [(line, NEARER**distance) for distance, line in around]
        visible = frozenset(name for line in (*above, *below) if (name := name_defined(line, code)) is not None)
        return cls(_names(weighed, WORD), _names(weighed, _USED), _names(weighed, _MEMBER), visible)


@dataclass(slots=True)
class SnippetIndex:
    """Definitions by name, each with a flag for members, and chunks of lines."""

    definitions: dict[str, list[tuple[Snippet, bool]]] = field(default_factory=lambda: defaultdict(list))
    chunks: list[Snippet] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # of a name, in `chunks`

    def add(self, path: str, text: str, language: str = "") -> Iterator[None]:
        """Add a file in a language, by default that of its path. Yields after every piece."""
        lines = split(text)
        code = language_named(language or language_of(path) or "").code
        for first in range(0, len(lines), PIECE_LINES):
            for found in definitions_in(lines, first, first + PIECE_LINES, code):
                snippet = Snippet(path, found.text, frozenset((found.name,)))
                self.definitions[found.name].append((snippet, found.member))
            for start in range(first, min(first + PIECE_LINES, len(lines)), CHUNK_STEP):
                self._add_chunk(path, lines[start : start + CHUNK_LINES])
            yield

    def worth(self, name: str, query: Query) -> float:
        """Return how informative a name is: more if it is near the hole, and more if few chunks contain it."""
        weight = query.names.get(name, 0.0)
        return weight * log((1 + len(self.chunks)) / (1 + len(self.places.get(name, ())))) if weight else 0.0

    def _add_chunk(self, path: str, lines: Sequence[str]) -> None:
        text = "\n".join(line for line in lines if len(line) <= LONGEST_LINE).strip("\n")
        names = frozenset(filter(_says_something, WORD.findall(text)))
        if len(names) >= LEAST_SHARED:
            for name in names:
                self.places[name].append(len(self.chunks))
            self.chunks.append(Snippet(path, text, names))


class SnippetRetriever:
    """The indexed texts around a few documents, and the last snippets of each of these documents."""

    def __init__(self) -> None:
        self._indexes: LRUCache[str, SnippetIndex] = LRUCache(KEPT)
        self._last: LRUCache[str, tuple[Snippet, ...]] = LRUCache(KEPT)

    def index(self, project_text: ProjectText) -> Iterator[None]:
        """Index a text, unless it is known. Yields after every piece; the index is available after the last one."""
        if project_text.text and project_text.name not in self._indexes:
            index = SnippetIndex()
            for path, text in project_text.each():
                yield from index.add(path, with_plain_ends(text))
            self._indexes[project_text.name] = index

    def has_indexed(self, name: str) -> bool:
        """Return whether the text with that name has been indexed. True for "", which names no text."""
        return not name or name in self._indexes

    def retrieve(self, request: Surroundings, fit: Fit) -> tuple[Snippet, ...]:
        """Return the snippets for a request's hole, best first, as many as fit.

        Keeps those of the last request for the same document while they are nearly as good. Takes some milliseconds, up
        to 15 if the file's own text has changed.
        """
        query, indexes = Query.of(request.prefix, request.suffix, request.language), self._indexes_for(request)
        found = fit(snippets_for(indexes, query))
        last = self._last.get(request.path, ())
        needed = STILL_GOOD * _worth(found, indexes, query)
        if last and all(_still_there(one, request) for one in last) and _worth(last, indexes, query) >= needed:
            return last
        self._last[request.path] = found
        return found

    def retrieve_anew(self, request: Surroundings, fit: Fit) -> tuple[Snippet, ...]:
        """Return the snippets for a request's hole, regardless of the document's earlier snippets."""
        return fit(snippets_for(self._indexes_for(request), Query.of(request.prefix, request.suffix, request.language)))

    def definitions(self, lines: Sequence[str], around: Surroundings) -> list[Snippet]:
        """Return the definitions of names that are used in some lines and defined elsewhere, best first."""
        query = Query.of("".join(f"{line}\n" for line in (*lines, "")), "", around.language)
        lists = [definitions_for(index, query) for index in self._indexes_for(around)]
        return list(_in_turn(lists))

    def _indexes_for(self, request: Surroundings) -> list[SnippetIndex]:
        known = self._indexes.get(request.project_name)
        return [_index_of(request.path, request.wider_context, request.language), *([] if known is None else [known])]


def snippets_for(indexes: Sequence[SnippetIndex], query: Query) -> list[Snippet]:
    """Return the snippets of some indexes without duplicates: chunks, most similar first, then definitions."""
    like = [each for index in indexes for each in chunks_for(index, query)]
    chunks = [snippet for _, snippet in sorted(like, key=lambda each: -each[0])]
    lists = [definitions_for(index, query) for index in indexes]
    return list(dict.fromkeys((*chunks, *_in_turn(lists))))


def definitions_for(index: SnippetIndex, query: Query) -> list[Snippet]:
    """Return definitions of names near the hole that are not visible from it, the most useful first."""
    found: dict[Snippet, float] = {}
    for wanted, of_members in ((query.used, False), (query.members, True)):
        for name in wanted:
            defined = [snippet for snippet, member in index.definitions.get(name, ()) if member is of_members]
            if name not in query.visible and len(defined) <= MOST_DEFINITIONS:
                for snippet in defined:
                    found[snippet] = max(index.worth(name, query) / len(defined), found.get(snippet, 0.0))
    return sorted(found, key=lambda snippet: (-found[snippet], snippet.path, snippet.text))[:CANDIDATES]


def chunks_for(index: SnippetIndex, query: Query) -> list[tuple[float, Snippet]]:
    """Return chunks that share names with the lines around the hole, most similar first, without overlaps.

    Each has its share of the query, as the index weighs names.
    """
    scores: defaultdict[int, float] = defaultdict(float)
    shared: Counter[int] = Counter()
    total = 0.0
    for name in query.names:
        worth = index.worth(name, query)
        total += worth
        for place in index.places.get(name, ()):
            scores[place] += worth
            shared[place] += 1
    if not total:  # every name occurs in all chunks
        return []
    likeness = {
        place: score / len(index.chunks[place].names) ** 0.5
        for place, score in scores.items()
        if shared[place] >= LEAST_SHARED
    }
    taken: list[int] = []
    for place in sorted(likeness, key=lambda place: (-likeness[place], place)):
        if place - 1 not in taken and place + 1 not in taken:
            taken.append(place)
        if len(taken) == CANDIDATES:
            break
    return [(scores[place] / total, index.chunks[place]) for place in taken]


@lru_cache(KEPT)
def _index_of(path: str, sides: tuple[str, str], language: str) -> SnippetIndex:
    """Return the index of the document's text outside the windows around the hole."""
    index = SnippetIndex()
    for side in sides:
        for _ in index.add(path, with_plain_ends(side), language):
            pass
    return index


def _in_turn(lists: Sequence[Sequence[Snippet]]) -> Iterator[Snippet]:
    """Yield the first snippets of all lists, then the second ones, and so on."""
    return (snippet for rank in zip_longest(*lists) for snippet in rank if snippet is not None)


def _still_there(snippet: Snippet, request: Surroundings) -> bool:
    """Return whether a snippet of the document itself is still outside the windows; always true for other files."""
    first = snippet.text.partition("\n")[0]
    return snippet.path != request.path or any(first in side for side in request.wider_context)


def _worth(snippets: Iterable[Snippet], indexes: Sequence[SnippetIndex], query: Query) -> float:
    names = frozenset(chain.from_iterable(snippet.names for snippet in snippets))
    return sum(max(index.worth(name, query) for index in indexes) for name in names)


def _names(weighed: Sequence[tuple[str, float]], pattern: re.Pattern[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for line, weight in weighed:
        for name in filter(_says_something, pattern.findall(line)):
            found[name] = max(weight, found.get(name, 0.0))
    return found


def _says_something(name: str) -> bool:
    return len(name) >= SHORTEST_NAME and is_name(name)
