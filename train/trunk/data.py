"""Fill-in-the-middle examples in the trunk's prompt layout. Many holes of one file share the text above them.

    head <prefix> lines above <suffix> text right of the hole <middle> the line so far | the hole's text <end>
    └─────── shared ────────┘ └────────── context of one hole ─────────┘└── rows that are learned from ───┘

The head contains snippets of the file's package and the file's path; see `snippets`.

A hole sees the lines above its own and nothing of the other holes, exactly as when it is served.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import torch
from torch import Tensor

from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.text.lines import first_line
from train.corpus.holes import Span, spans_of


@dataclass(frozen=True, slots=True)
class ExampleSettings:
    """Sizes in characters and tokens.

    Most suffixes are short; these are cheaper to read and nearly as informative. `long_suffix` is the share of longer
    ones, `no_suffix` the share of holes without text to their right.
    """

    window_chars: int = 2000
    short_chars: tuple[int, int] = (40, 200)
    long_chars: tuple[int, int] = (200, 500)
    long_suffix: float = 0.3
    holes: int = 16
    text_tokens: int = 48  # longest hole; longer ones are left out
    no_suffix: float = 0.08


@dataclass(frozen=True, slots=True)
class HoleExample:
    """One hole of a window. It sees the first `above` tokens of the shared prefix.

    `context` holds the suffix marker and the suffix; `middle` the middle marker, the line so far, and the hole's text
    up to its end token. `learned` is the number of tokens at the end of `middle` that are predicted.
    """

    above: int
    context: list[int]
    middle: list[int]
    learned: int
    kind: str


@dataclass(frozen=True, slots=True)
class Window:
    """The prompt's head, the prefix marker and the tokens of a window's text, with the window's holes."""

    prefix: list[int]
    holes: list[HoleExample]


# Returns the head of a window's prompts. The arguments are the window's start and end in its file, in characters, and
# the position after which the holes are.
HeadOf = Callable[[int, int, int], tuple[int, ...]]


def no_head(_start: int, _end: int, _at: int) -> tuple[int, ...]:
    """Return the empty head of a file that belongs to no project."""
    return ()


def draw_window(
    text: str,
    language: str,
    vocabulary: TrunkVocabulary,
    settings: ExampleSettings,
    rng: random.Random,
    head_of: HeadOf = no_head,
) -> Window | None:
    """Draw a window with holes from `text`. Returns None if it has no usable holes.

    The first hole drawn determines the head.
    """
    start = rng.randrange(max(1, len(text) - settings.window_chars // 2))
    start = text.rfind("\n", 0, start) + 1
    window = text[start : start + settings.window_chars]
    window = window[: window.rfind("\n") + 1] or window
    tokens = vocabulary.encode(window)
    boundaries = {0: 0}
    length = 0
    for number, token in enumerate(tokens, 1):
        length += len(vocabulary.bytes_of(token))
        boundaries[length] = number
    spans = spans_of(window, rng, language, text, start)
    rng.shuffle(spans)
    found: list[HoleExample] = []
    first = 0
    for span in spans:
        example = _hole(window, text[start + len(window) :], span, boundaries, vocabulary, settings, rng)
        if example is not None:
            first = first if found else span.start
            found.append(example)
        if len(found) == settings.holes:
            break
    if not found:
        return None
    most = max(hole.above for hole in found)
    head = head_of(start, start + len(window), start + first)
    behind_head = [replace(hole, above=len(head) + hole.above) for hole in found]
    return Window([*head, vocabulary.fim.prefix, *tokens[: most - 1]], behind_head)


def _hole(
    window: str,
    below: str,
    span: Span,
    boundaries: dict[int, int],
    vocabulary: TrunkVocabulary,
    settings: ExampleSettings,
    rng: random.Random,
) -> HoleExample | None:
    line = window.rfind("\n", 0, span.start) + 1
    above = boundaries.get(len(window[:line].encode()))
    if above is None:  # a token spans the beginning of the line
        return None
    so_far, partial_word = vocabulary.split_partial_word(window[line : span.start])
    text = vocabulary.encode(partial_word + window[span.start : span.end])
    if len(text) > settings.text_tokens:
        return None
    size = rng.randint(*(settings.long_chars if rng.random() < settings.long_suffix else settings.short_chars))
    suffix = (window[span.end :] + below)[:size]
    if rng.random() < settings.no_suffix and not first_line(suffix).strip():
        suffix = ""
    middle = [vocabulary.fim.middle, *vocabulary.encode(so_far), *text, vocabulary.fim.end]
    context = [vocabulary.fim.suffix, *vocabulary.encode(suffix)]
    return HoleExample(above + 1, context, middle, len(text) + 1, str(span.kind))


@dataclass(frozen=True, slots=True)
class Pass:
    """Rows of several holes side by side: ids and positions [T], and what each of them sees.

    The holes' rows form groups: `group` [H, M] are the indices of each hole's rows, padded with 0, and `place` [T] is a
    row's index in the flattened groups. A group's keys are those of the window's prefix, then the holes' own tokens
    `keys` [H, N]; `seen` [H, M, P + N] says which of them a row sees.
    """

    ids: Tensor
    positions: Tensor
    group: Tensor
    place: Tensor
    keys: Tensor
    seen: Tensor


@dataclass(frozen=True, slots=True)
class Laid:
    """A window laid out as three passes: `prefix` [P] and `suffixes` are only read, `middles` are learned from.

    `rows` are the rows of `middles` that predict `targets`; `kinds` are the kinds of their holes.
    """

    prefix: Tensor
    suffixes: Pass
    middles: Pass
    rows: Tensor
    targets: Tensor
    kinds: list[str]


def lay_out(window: Window) -> Laid:
    """Lay out the passes of a window. The keys of `middles` index all rows of `suffixes` first, then its own."""
    holes = window.holes
    contexts = [hole.context for hole in holes]
    inputs = [hole.middle[:-1] for hole in holes]
    starts = [hole.above for hole in holes]
    behind = [hole.above + len(hole.context) for hole in holes]
    read = sum(map(len, contexts))
    no_keys: list[list[int]] = [[] for _ in holes]
    suffix_keys = _numbered(contexts)
    rows: list[int] = []
    targets: list[int] = []
    kinds: list[str] = []
    first = 0
    for hole, tokens in zip(holes, inputs, strict=True):
        last = first + len(tokens)
        rows += range(last - hole.learned, last)
        targets += hole.middle[-hole.learned :]
        kinds += [hole.kind] * hole.learned
        first = last
    return Laid(
        torch.tensor(window.prefix),
        _pass(window, contexts, starts, no_keys, 0),
        _pass(window, inputs, behind, suffix_keys, read),
        torch.tensor(rows),
        torch.tensor(targets),
        kinds,
    )


def _numbered(texts: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the indices of each text's tokens after concatenation."""
    ends = list(accumulate(map(len, texts)))
    return [list(range(end - len(text), end)) for text, end in zip(texts, ends, strict=True)]


def _pass(
    window: Window,
    texts: Sequence[Sequence[int]],
    starts: Sequence[int],
    earlier: Sequence[Sequence[int]],
    offset: int,
) -> Pass:
    """Build the pass over the rows of `texts`, which begin at the positions `starts`.

    They see the keys `earlier` and their own. Their own keys are numbered from `offset` on.
    """
    above = torch.tensor([hole.above for hole in window.holes])
    lengths = [len(text) for text in texts]
    most = max(lengths)
    group, place = torch.zeros(len(texts), most, dtype=torch.long), []
    columns = max(len(before) + length for before, length in zip(earlier, lengths, strict=True))
    keys = torch.zeros(len(texts), columns, dtype=torch.long)
    seen = torch.zeros(len(texts), most, columns, dtype=torch.bool)
    for hole, (numbers, before) in enumerate(zip(_numbered(texts), earlier, strict=True)):
        own = len(before) + len(numbers)
        group[hole, : len(numbers)] = torch.tensor(numbers)
        place += [hole * most + column for column in range(len(numbers))]
        keys[hole, :own] = torch.tensor([*before, *(offset + number for number in numbers)])
        seen[hole, :, : len(before)] = True
        seen[hole, :, len(before) : own] = torch.ones(most, len(numbers), dtype=torch.bool).tril()
    shared = torch.arange(len(window.prefix))[None] < above[:, None]
    shared = shared[:, None].expand(-1, most, -1)
    positions = [start + number for start, length in zip(starts, lengths, strict=True) for number in range(length)]
    ids = [token for text in texts for token in text]
    return Pass(
        torch.tensor(ids),
        torch.tensor(positions),
        group,
        torch.tensor(place),
        keys,
        torch.cat([shared, seen], 2),
    )
