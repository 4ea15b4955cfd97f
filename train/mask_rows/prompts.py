"""Draws fill-in-the-middle prompts from files of code, as an editor would ask for them.

Some holes are those that the adapter was trained on. Most are longer: several whole lines, from the cursor on. Where
the trunk ends its text early, the first words of the removed lines lead it on. A share of the middles is not written
but read: they are the removed lines themselves, which takes a tenth of the time.
"""

import random
import re
from dataclasses import dataclass

from infill_engine.models.trunk.prompt import TrunkVocabulary, build_prompt
from infill_engine.text.lines import first_line
from train.corpus.holes import spans_of
from train.holes.snippets import File, Heads
from train.mask_rows.lanes import Order

_GUIDE = re.compile(r"\n\s*(?:\w+|\S)")


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Sizes in characters, except for `middle`.

    `own_kinds` is the share of holes that `corpus.holes` draws; the others remove `rows` whole lines. `no_suffix` is
    the share of prompts without text to the right, where nothing follows on the hole's last line.
    """

    own_kinds: float = 0.1
    rows: tuple[int, int] = (4, 40)
    prefix_chars: tuple[int, int] = (200, 1100)
    short_suffix: tuple[int, int] = (40, 200)
    long_suffix: tuple[int, int] = (200, 400)
    long_share: float = 0.3
    no_suffix: float = 0.15
    middle: tuple[int, int] = (64, 224)  # tokens
    original: float = 0.0  # share of the middles that are the removed text


def draw_order(
    file: File, vocabulary: TrunkVocabulary, heads: Heads, settings: PromptSettings, rng: random.Random
) -> Order | None:
    """Return a prompt for a hole in `file`, with the guides of its middle; None if the file has no such hole."""
    text = file.text
    own = rng.random() < settings.own_kinds
    hole = _span(file, settings, rng) if own else _rows(text, settings, rng)
    if hole is None:
        return None
    start, end = hole
    size = rng.randint(*settings.prefix_chars)
    first = text.rfind("\n", 0, max(0, start - size)) + 1
    prefix, _ = vocabulary.split_partial_word(text[first:start])
    right = rng.randint(*(settings.long_suffix if rng.random() < settings.long_share else settings.short_suffix))
    suffix = text[end : end + right]
    if not first_line(suffix).strip() and rng.random() < settings.no_suffix:
        suffix = ""
    head = heads.of(file, rng)(first, end, start)
    prompt = list(build_prompt(vocabulary, prefix, suffix, head).tokens)
    most = rng.randint(*settings.middle)
    if rng.random() < settings.original:
        given = vocabulary.encode(text[first + len(prefix) : end])[:most]
        return Order(prompt, [], len(given), given)
    return Order(prompt, [vocabulary.encode(guide) for guide in guides_of(text[start:end])], most)


def guides_of(hole: str) -> list[str]:
    """Return the beginnings of a hole's lines except the first: the line break, the indentation and the first word."""
    return [match.group() for match in _GUIDE.finditer(hole)]


def _span(file: File, settings: PromptSettings, rng: random.Random) -> tuple[int, int] | None:
    """A hole of a kind that `corpus.holes` draws, in a window of the file."""
    size = settings.prefix_chars[1]
    start = file.text.rfind("\n", 0, rng.randrange(max(1, len(file.text) - size // 2))) + 1
    window = file.text[start : start + size]
    window = window[: window.rfind("\n") + 1]
    spans = spans_of(window, rng, file.language, file.text, start) if window.strip() else []
    if not spans:
        return None
    span = rng.choice(spans)
    return start + span.start, start + span.end


def _rows(text: str, settings: PromptSettings, rng: random.Random) -> tuple[int, int] | None:
    """Whole lines, from the first character of one of them or from a place inside it."""
    lines = text.split("\n")
    count = rng.randint(*settings.rows)
    if len(lines) < count + 4:
        return None
    row = rng.randrange(2, len(lines) - count)
    start = sum(len(line) + 1 for line in lines[:row])
    indent = len(lines[row]) - len(lines[row].lstrip())
    end = start + sum(len(line) + 1 for line in lines[row : row + count]) - 1
    cut = rng.randrange(len(lines[row]) - indent) if len(lines[row]) > indent and rng.random() < 0.4 else 0
    return (start + indent + cut, end) if text[start:end].strip() else None
