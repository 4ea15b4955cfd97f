"""Fill-in-the-middle examples in the trunk's prompt layout: many holes of one file share the text above them.

    <prefix> lines above <suffix> text right of the hole <middle> the line so far | the hole's text <end>
    └──── shared ─────┘ └────────── context of one hole ─────────┘└── rows that are learned from ───┘

A hole sees the lines above its own and nothing of the other holes, exactly as when it is served.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infill_engine.lines import first_line
from infill_engine.models.trunk.network import UNSEEN
from infill_engine.models.trunk.prompt import TrunkVocabulary
from infill_engine.train.holes import Span, spans_of


@dataclass(frozen=True, slots=True)
class ExampleSettings:
    """Sizes in characters and tokens.

    Most suffixes are short ones, which cost less to read and say nearly as much; `long_suffix` is the share of others.
    `no_suffix` is the share of holes that have nothing to their right.
    """

    window_chars: int = 2000
    short_chars: tuple[int, int] = (40, 200)
    long_chars: tuple[int, int] = (200, 500)
    long_suffix: float = 0.3
    holes: int = 16
    text_tokens: int = 48  # of the hole's text; what is longer is left out
    no_suffix: float = 0.08


@dataclass(frozen=True, slots=True)
class HoleExample:
    """One hole of a window: `above` tokens of the shared prefix are visible to it.

    `context` holds the suffix marker and the suffix; `middle` the middle marker, the line so far, and the hole's text
    up to its end token. `learned` counts the tokens at the end of `middle` that are predicted.
    """

    above: int
    context: list[int]
    middle: list[int]
    learned: int
    kind: str


@dataclass(frozen=True, slots=True)
class Window:
    """The prefix marker and the tokens of a window's text, with its holes."""

    prefix: list[int]
    holes: list[HoleExample]


def draw_window(
    text: str, language: str, vocabulary: TrunkVocabulary, settings: ExampleSettings, rng: random.Random
) -> Window | None:
    """A window from somewhere in `text` with holes in it; None where it has none that can be used."""
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
    spans = spans_of(window, rng, language)
    rng.shuffle(spans)
    found = []
    for span in spans:
        example = _hole(window, text[start + len(window) :], span, boundaries, vocabulary, settings, rng)
        if example is not None:
            found.append(example)
        if len(found) == settings.holes:
            break
    if not found:
        return None
    most = max(hole.above for hole in found)
    return Window([vocabulary.fim.prefix, *tokens[: most - 1]], found)


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
    if above is None:  # a token reaches over the beginning of the line
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
    """Rows of one forward pass: ids and positions [T], mask [T, P + T]."""

    ids: Tensor
    positions: Tensor
    mask: Tensor


@dataclass(frozen=True, slots=True)
class Laid:
    """A window laid out as two passes: `context` is only read, `learned` is learned from.

    `rows` are the rows of `learned` whose next token is `targets`; `kinds` are the kinds of hole of those.
    """

    context: Pass
    learned: Pass
    rows: Tensor
    targets: Tensor
    kinds: list[str]


def lay_out(window: Window) -> Laid:
    """The two passes of a window."""
    shared = len(window.prefix)
    ids, positions = list(window.prefix), list(range(shared))
    starts = []
    for hole in window.holes:
        starts.append(len(ids))
        ids += hole.context
        positions += range(hole.above, hole.above + len(hole.context))
    seen = torch.zeros(len(ids), len(ids), dtype=torch.bool)
    seen[:shared, :shared] = True
    for hole, start in zip(window.holes, starts, strict=True):
        end = start + len(hole.context)
        seen[start:end, : hole.above] = True
        seen[start:end, start:end] = True
    context = Pass(torch.tensor(ids), torch.tensor(positions), _added(seen.tril()))
    return _learned(window, context, starts)


def _learned(window: Window, context: Pass, starts: Sequence[int]) -> Laid:
    past = len(context.ids)
    ids: list[int] = []
    positions: list[int] = []
    rows: list[int] = []
    targets: list[int] = []
    kinds: list[str] = []
    total = sum(len(hole.middle) - 1 for hole in window.holes)
    seen = torch.zeros(total, past + total, dtype=torch.bool)
    for hole, start in zip(window.holes, starts, strict=True):
        first, inputs = len(ids), hole.middle[:-1]
        last = first + len(inputs)
        offset = hole.above + len(hole.context)
        ids += inputs
        positions += range(offset, offset + len(inputs))
        rows += range(last - hole.learned, last)
        targets += hole.middle[-hole.learned :]
        kinds += [hole.kind] * hole.learned
        seen[first:last, : hole.above] = True
        seen[first:last, start : start + len(hole.context)] = True
        seen[first:last, past + first : past + last] = torch.ones(len(inputs), len(inputs), dtype=torch.bool).tril()
    learned = Pass(torch.tensor(ids), torch.tensor(positions), _added(seen))
    return Laid(context, learned, torch.tensor(rows), torch.tensor(targets), kinds)


def _added(seen: Tensor) -> Tensor:
    """A mask to be added to scores: 0 where `seen`, UNSEEN elsewhere."""
    return torch.zeros(seen.shape).masked_fill_(~seen, UNSEEN)
