"""The prompt that asks for a next edit: a patch, in which the hunk of the region is written next.

    <|file_sep|> changes.diff
    @@ path @@          one hunk for each of the last edits, the newest last
     above
    -old
    +new
     below
    @@ path @@          definitions of names in the region, from elsewhere
     definition
    @@ path @@ error    the region, with the first error in it: all its lines, as unchanged ones
     line
     …

The model need not have been trained for it: patches are part of what it has read. Its prediction at the beginning of a
line says whether the line changes.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from infill_engine.context.snippets import Snippet
from infill_engine.edits.types import PastEdit, Region
from infill_engine.models.trunk.prompt import PREFIX_TOKENS, Prompt, TrunkVocabulary
from infill_engine.text.lines import with_plain_ends

TITLE = "changes.diff\n"
HISTORY_TOKENS = 192
LESS_HISTORY_TOKENS = 112  # once the history has become too long, so that its beginning seldom moves
HUNK_TOKENS = 112  # of one edit; a longer one is left out, and so are those before it
DEFINITION_TOKENS = 64
ERROR_TOKENS = 24
REGION_TOKENS = 144  # of the lines that are scored
LEAD_LINES = 2  # above the region
LEAD_CHARS = 200


@dataclass(frozen=True, slots=True)
class RegionLine:
    """A line of a region without its end, as the tokens of an unchanged line of a patch."""

    text: str
    is_fixed: bool  # it stays as it is
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DiffPrompt:
    """The prompt, and the lines that follow it. `first` is the first line's row in the region."""

    prompt: Prompt
    lines: tuple[RegionLine, ...]
    first: int


def diff_prompt(
    vocabulary: TrunkVocabulary,
    region: Region,
    definitions: Sequence[Snippet] = (),
    held: Sequence[int] = (),
) -> DiffPrompt:
    """Return the prompt for a region. What does not fit, also of its lines, is left out.

    `held` are the tokens of an earlier prompt. If it began with an edit that still fits, this one begins there, too.
    """
    title = [vocabulary.fim.file, *vocabulary.encode(TITLE)]
    tokens = [*title, *_history(vocabulary, region.history, held[len(title) :])]
    tokens += _definitions(vocabulary, region, definitions)
    error = "".join(f" {one.message}" for one in region.diagnostics[:1])
    tokens += vocabulary.encode(f"@@ {region.around.path} @@")
    tokens += vocabulary.encode(error)[:ERROR_TOKENS]
    tokens += vocabulary.encode("\n")
    lead = region.around.prefix[-LEAD_CHARS:].splitlines()[-LEAD_LINES:]
    for line in lead:
        tokens += vocabulary.encode(_marked(" ", f"{line}\n"))
    first, lines = _fitting([*_lines(vocabulary, region)])
    # As a prefix, so that what two prompts share is read only once. The last part must not be empty.
    *prefix, last = tokens[-PREFIX_TOKENS:]
    return DiffPrompt(Prompt(tuple(prefix), (), (last,)), tuple(lines), first)


def _split(text: str) -> list[str]:
    """Return the whole lines of a text."""
    return with_plain_ends(text).split("\n")[:-1]


def _lines(vocabulary: TrunkVocabulary, region: Region) -> Iterator[RegionLine]:
    for row, line in enumerate(region.lines):
        yield RegionLine(line, region.is_fixed(row), tuple(vocabulary.encode(f" {line}\n")))


def _fitting(lines: list[RegionLine]) -> tuple[int, list[RegionLine]]:
    """Leave out the lines farthest from the fixed ones, or from the middle, until the rest fits."""
    fixed = [row for row, line in enumerate(lines) if line.is_fixed]
    middle = sum(fixed) / len(fixed) if fixed else (len(lines) - 1) / 2
    first = 0
    while lines and sum(len(line.tokens) for line in lines) > REGION_TOKENS:
        if middle - first > first + len(lines) - 1 - middle:
            first += 1
            del lines[0]
        else:
            lines.pop()
    return first, lines


def _history(vocabulary: TrunkVocabulary, history: Sequence[PastEdit], held: Sequence[int]) -> list[int]:
    hunks: list[list[int]] = []  # the newest first
    for edit in reversed(history):
        hunks.append(_hunk(vocabulary, edit))
        if len(hunks[-1]) > HUNK_TOKENS:
            hunks.pop()
            break
    sizes = [*accumulate(map(len, hunks))]
    count = bisect_right(sizes, HISTORY_TOKENS)
    begun = [number for number, hunk in enumerate(hunks, 1) if [*held[: len(hunk)]] == hunk]
    if begun:
        count = begun[-1] if begun[-1] <= count else bisect_right(sizes, LESS_HISTORY_TOKENS)
    return [token for hunk in reversed(hunks[:count]) for token in hunk]


def _hunk(vocabulary: TrunkVocabulary, edit: PastEdit) -> list[int]:
    parts = ((" ", edit.above), ("-", edit.old), ("+", edit.new), (" ", edit.below))
    return vocabulary.encode(_title(edit.path) + "".join(_marked(sign, text) for sign, text in parts))


def _definitions(vocabulary: TrunkVocabulary, region: Region, definitions: Sequence[Snippet]) -> list[int]:
    told = {line for edit in region.history for part in (edit.above, edit.old, edit.new) for line in _split(part)}
    found: list[int] = []
    for definition in definitions:
        if definition.text.partition("\n")[0] not in told:
            hunk = vocabulary.encode(_title(definition.path) + _marked(" ", f"{definition.text}\n"))
            if len(hunk) + len(found) <= DEFINITION_TOKENS:
                found += hunk
    return found


def _title(path: str) -> str:
    return f"@@ {path} @@\n"


def _marked(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in _split(text))
