"""Draws windows of files with holes as people type, and lays them out as the product asks.

    head <prefix> lines above <suffix> text right of the cursor <middle> the line so far | the hole's text <end>
    └──── read once ────────┘ └──────────── of one hole ───────────────┘└── learned ────┘

The holes of a window share its head and the lines above the last of them. A hole sees the lines above its own and
nothing of the other holes, exactly as when it is served. Only the rows from `<middle>` on have gradients.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from infill_engine.models.trunk.prompt import Prompt, TrunkVocabulary, build_prompt
from infill_engine.text.lines import first_line
from train.corpus.holes import spans_of
from train.holes.typing import typed
from train.trunk.rows import Group, Rows, following

MOST_OWN = 64  # tokens of the lines above a hole that it does not share


@dataclass(frozen=True, slots=True)
class ExampleSettings:
    """Sizes in characters and tokens.

    `long_suffix` is the share of holes with as much text to their right as a prompt has; it is dear, and a shorter one
    is nearly as informative. `no_suffix` is the share without any, and `mistyped` that with a mistyped word in front.
    """

    window_chars: int = 1500  # a prompt has all lines of most windows
    short_chars: tuple[int, int] = (40, 200)
    long_chars: tuple[int, int] = (200, 500)
    long_suffix: float = 0.3
    no_suffix: float = 0.08
    mistyped: float = 0.12
    holes: int = 16
    text_tokens: int = 48  # longest hole; longer ones are left out


@dataclass(frozen=True, slots=True)
class HoleRows:
    """The tokens of one hole. It sees the first `above` tokens of the window's.

    `context` is what follows them up to the middle marker; `middle` has the marker, the line so far, and the hole's
    text up to its end token. `learned` is the number of tokens at the end of `middle` that are predicted.
    """

    above: int
    context: Sequence[int]
    middle: Sequence[int]
    learned: int
    kind: str


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that the holes of a window share, and the holes."""

    shared: Sequence[int]
    holes: Sequence[HoleRows]


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
    below = text[start + len(window) :][: settings.long_chars[1]]
    spans = spans_of(window, rng, language, text, start)
    head: tuple[int, ...] | None = None
    holes: list[tuple[Prompt, list[int], str]] = []
    for each in typed(window, spans, settings.mistyped, rng):
        if head is None:
            head = head_of(start, start + len(window), start + each.start)
        before, partial_word = vocabulary.split_partial_word(each.before)
        tokens = vocabulary.encode(partial_word + each.text)
        if len(tokens) <= settings.text_tokens:
            prompt = build_prompt(vocabulary, before, _suffix(each.after + below, settings, rng), head)
            holes.append((prompt, [*tokens, vocabulary.fim.end], each.kind))
        if len(holes) == settings.holes:
            break
    return window_of(holes)


def window_of(holes: Sequence[tuple[Prompt, Sequence[int], str]]) -> Window | None:
    """Return what the prompts of holes share, and their rows. Returns None without holes.

    A hole is left out if much of what is above it is not shared, because its prompt begins further below.
    """
    shared = max((prompt.head + prompt.prefix for prompt, _, _ in holes), key=len, default=())
    found = []
    for prompt, text, kind in holes:
        above = prompt.head + prompt.prefix
        differing = (at for at, token in enumerate(above) if token != shared[at])
        count = next(differing, len(above))
        if len(above) - count <= MOST_OWN:
            context = [*above[count:], *prompt.suffix]
            found.append(HoleRows(count, context, [*prompt.middle, *text], len(text), kind))
    return Window(shared, found) if found else None


def _suffix(text: str, settings: ExampleSettings, rng: random.Random) -> str:
    size = rng.randint(*(settings.long_chars if rng.random() < settings.long_suffix else settings.short_chars))
    ends = rng.random() < settings.no_suffix and not first_line(text).strip()
    return "" if ends else text[:size]


@dataclass(frozen=True, slots=True)
class Laid:
    """A window laid out as two passes: the rows of `read` are only read, those of `learned` have gradients.

    `rows` [N] of `learned` predict `targets` [N]. `counts` are the numbers of targets of the holes, and `kinds` theirs.
    """

    read: Rows
    learned: Rows
    rows: Tensor
    targets: Tensor
    counts: Sequence[int]
    kinds: Sequence[str]


def lay_out(window: Window) -> Laid:
    """Lay out the passes of a window."""
    size = len(window.shared)
    read, learned = _Rows(), _Rows()
    read.add(window.shared, 0, following(0, size))
    rows: list[int] = []
    targets: list[int] = []
    for hole in window.holes:
        above, first = slice(0, hole.above), len(read.ids)
        last = first + len(hole.context)
        read.add(hole.context, hole.above, following(first, last, hole.above, own=(above,)))
        tokens, start = hole.middle[:-1], len(learned.ids)
        end, before = start + len(tokens), hole.above + len(hole.context)
        learned.add(tokens, before, following(start, end, before, kept=(above, slice(first, last))))
        rows += range(end - hole.learned, end)
        targets += hole.middle[-hole.learned :]
    return Laid(
        read.laid(),
        learned.laid(),
        torch.tensor(rows),
        torch.tensor(targets),
        [hole.learned for hole in window.holes],
        [hole.kind for hole in window.holes],
    )


class _Rows:
    """Rows that are put together group by group."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._positions: list[int] = []
        self._groups: list[Group] = []

    def add(self, tokens: Sequence[int], position: int, group: Group) -> None:
        """Add tokens, the first of which is at a position, as a group."""
        self.ids += tokens
        self._positions += range(position, position + len(tokens))
        self._groups.append(group)

    def laid(self) -> Rows:
        """Return the rows."""
        return Rows(torch.tensor(self.ids), torch.tensor(self._positions), self._groups)
