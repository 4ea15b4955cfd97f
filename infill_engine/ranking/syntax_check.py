"""How much a text breaks the syntax: the number of faults that it adds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tree_sitter import Tree

from infill_engine.text import delimiters, syntax
from infill_engine.text.bodies import ended_bodies, open_bodies
from infill_engine.text.embedded import region
from infill_engine.text.languages import language as language_named
from infill_engine.types import Surroundings

PLACEHOLDER = "x"  # fills the hole to measure the faults of the code around it
# characters beyond each window: if a window ended after a line that opens a block, that line would seem to be a fault
MORE_CHARS = 8_000
NEAR_CHARS = 2_000  # on each side of the hole; all that counts in code with faults
BREAKS = 1.0  # relative new faults (see `new_faults`) from which a text counts as broken


def brokenness(new_faults: float) -> int:
    """Return 0 for a text that adds no fault, 1 if its faults may be the parser's, 2 if it breaks the syntax.

    Of 932 texts with brokenness 1, four were right (holes in packages held out for calibration).
    """
    return 0 if new_faults <= 0 else 1 if new_faults < BREAKS else 2


def new_faults(texts: Sequence[str], request: Surroundings) -> list[float]:
    """Return for each text (its faults - faults of the best filling) / (1 + faults of the best filling); 0 without a
    grammar.

    The best filling is an empty text, a name, a name that closes what its line opens, or the best of the texts.
    """
    around = _parsed_context(request) if texts else None
    if around is None:
        return [0.0] * len(texts)
    found = [around.faults_with(text) for text in texts]
    least = min(around.least, *found)
    return [(count - least) / (1 + least) for count in found]


def prepare(request: Surroundings) -> None:
    """Parse the code around a hole, which `new_faults` needs. How long that takes depends only on the document."""
    _parsed_context(request)


def leaves_faults(text: str, request: Surroundings) -> bool:
    """Return whether faults remain with `text` in a hole whose context has faults, too; False without a grammar.

    If a name or an empty text fills the hole without a fault, `new_faults` has counted the text's faults.
    """
    around = _parsed_context(request)
    return around is not None and around.least > 0 and around.faults_with(text) > 0


@dataclass(frozen=True, slots=True)
class _ParsedContext:
    """The code around a hole. `least` is the number of faults it has by itself.

    An open body is not a fault of a text, because its author is still writing it. So open bodies count as closed: those
    of the lines above close at the end of the code, and one that the text opens at its end closes right there. `opened`
    are the brackets that the lines above leave open, outermost first. `bodies` is the number of their open bodies that
    a word ends. `closed` and `ended` say how many of these the code after the hole closes.
    """

    before: str
    after: str
    language: str
    least: int = 0
    opened: str = ""
    closed: str = ""
    bodies: int = 0
    ended: int = 0

    def faults_with(self, text: str) -> int:
        """Count the faults with `text` in the hole. Only the change is parsed."""
        found = self._count(text, "")
        if not found:
            return 0
        lines = self.before.rpartition("\n")[2] + text
        end = self._end(lines)
        closed = [text] if end else []
        if text.strip() and not self.after.partition("\n")[0].strip():
            last = lines.rpartition("\n")[2].rstrip()
            closed += [f"{text}\n{closing}" for closing in _closings(last, self.language)]
        return min([found, *(self._count(one, end) for one in closed)])

    def _end(self, lines: str) -> str:
        """Return what closes the bodies above that neither `lines` nor the code after them closes."""
        words = language_named(self.language).layout.closing_words
        bodies = self.bodies - ended_bodies(lines, self.language) - self.ended
        if bodies > 0 and len(words) == 1:
            return f"\n{words[0]}" * bodies
        rest = delimiters.unclosed(self.opened, delimiters.scan(lines, self.language).closed + self.closed)
        return "\n" + "}" * len(rest) if set(rest) == {"{"} else ""

    def _count(self, text: str, end: str) -> int:
        parsed = _with_placeholder(self.before, self.after + end, self.language)
        return 0 if parsed is None else _faults(parsed, text)


@dataclass(frozen=True, slots=True, eq=False)  # so that a text is parsed once in it
class _Parsed:
    """Both sides of a hole in UTF-8, and their tree with the placeholder between them."""

    before: bytes
    after: bytes
    tree: Tree
    language: str


@lru_cache(maxsize=64)
def _faults(parsed: _Parsed, text: str) -> int:
    tree = syntax.refilled(parsed.tree, parsed.before, PLACEHOLDER, text, parsed.after, parsed.language)
    return 0 if tree is None else syntax.faults(tree)


@lru_cache(maxsize=8)
def _with_placeholder(before: str, after: str, language: str) -> _Parsed | None:
    tree = syntax.parse(before + PLACEHOLDER + after, language)
    return None if tree is None else _Parsed(syntax.to_bytes(before), syntax.to_bytes(after), tree, language)


def _closings(line: str, language: str) -> Iterator[str]:
    """Yield what may close the body that a line opens at its end, with the brackets around it and without."""
    layout = language_named(language).layout
    if not layout.opens.search(line):
        return
    if line.endswith("{"):
        yield from ("}", "};")
        if len(opened := delimiters.scan(line, language).opened) > 1:
            yield "".join(delimiters.PAIRS[bracket] for bracket in reversed(opened))
    else:
        yield from layout.closing_words


def _parsed_context(request: Surroundings) -> _ParsedContext | None:
    """Return the code around a hole; None without a grammar. For a hole in embedded code, only that code counts."""
    left, right = request.wider_context
    before, after = left[-MORE_CHARS:] + request.prefix, request.suffix + right[:MORE_CHARS]
    embedded = region(before, after, request.language)
    if embedded is not None:
        return _parsed(embedded.prefix, embedded.suffix, embedded.language, cut=False)
    return _parsed(before, after, request.language, cut=len(left) > MORE_CHARS)


@lru_cache(maxsize=4)
def _parsed(before: str, after: str, language: str, *, cut: bool) -> _ParsedContext | None:
    """Return the text on both sides. If it is `cut` from a document, start at a definition.

    A cut text may begin inside a docstring or an argument list, so that its parse means nothing. Starting at the first
    definition fixes about half of these cases, at the last one some more.

    In code with faults, the parser's recovery takes milliseconds for each text and blames texts for faults far away. So
    only what is near the hole counts there, unless it has more faults.
    """
    best = _from_a_definition(before, after, language, cut=cut)
    if best is None or not best.least or max(len(before), len(after)) <= NEAR_CHARS:
        return best
    above, below = before[-NEAR_CHARS:], after[:NEAR_CHARS]
    if len(above) < len(before):
        above = above[above.find("\n") + 1 :]
    if len(below) < len(after):
        below = below[: below.rfind("\n") + 1]
    near = _from_a_definition(above, below, language, cut=cut or len(above) < len(before))
    return near if near is not None and near.least <= best.least else best


def _from_a_definition(before: str, after: str, language: str, *, cut: bool) -> _ParsedContext | None:
    starts = language_named(language).code.starts if cut else None
    headers = [] if starts is None else [match.start() for match in starts.finditer(before)]
    best: _ParsedContext | None = None
    for start in dict.fromkeys([*headers[:1], *headers[-1:]] or [0]):
        found = _parsed_from(before[start:], after, language)
        if found is not None and (best is None or found.least < best.least):
            best = found
        if best is None or not best.least:
            return best
    return best


def _parsed_from(before: str, after: str, language: str) -> _ParsedContext | None:
    before = syntax.opened(before, language)
    parsed = _with_placeholder(before, after, language)
    if parsed is None:
        return None
    if not syntax.faults(parsed.tree):
        return _ParsedContext(before, after, language)
    above = before[: before.rfind("\n") + 1]
    around = _ParsedContext(
        before,
        after,
        language,
        opened=delimiters.scan(above, language).opened,
        closed=delimiters.scan(after, language).closed,
        bodies=open_bodies(above, language),
        ended=ended_bodies(after, language),
    )
    fillings = ("", PLACEHOLDER, PLACEHOLDER + _closers(before.rpartition("\n")[2], language))
    return replace(around, least=min(map(around.faults_with, fillings)))


def _closers(line: str, language: str) -> str:
    """Return what closes the string and the brackets that a line leaves open."""
    read = delimiters.scan(line, language)
    quote = delimiters.closing_of(read.inside, language) if delimiters.is_quote(read.inside, language) else ""
    return quote + "".join(delimiters.PAIRS[bracket] for bracket in reversed(read.opened))
