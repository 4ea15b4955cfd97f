"""Simulates typing real code into a real file: the initial document, then one keystroke after another.

`make_replay` types much into one document of Python, with detours; `make_place` types one piece of any language.
In a replay, typing happens in a block of real code. Some runs of its lines are removed and typed again as in an editor:
Enter inserts indentation, Backspace removes one level of it, and an occasional wrong letter is typed and deleted. Some
arguments are removed from the middle of their lines and typed again with the rest of the line to their right. The same
seed types the same text, however many lines of other code surround the block.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench.replay.sources import SourceFile
from infill_engine.errors import InputError
from infill_engine.text import syntax

BLOCK_LINES = 200
TYPO_SHARE = 0.02
INVOKED_SHARE = 0.1  # of the requests; the others are Automatic
FIRST_LINES = 6  # of a file, mostly a licence
MIDDLE_SHARE = 0.3  # of the places typed at
INDENT = 4
SMALLEST_LINE, LARGEST_LINE = 8, 90  # characters of a line that is typed at a place, without its indentation
SMALLEST_REST = 60  # largest shortfall of the filler, in lines
_ARGUMENTS = re.compile(r"\(([^()\n]{4,40})\)")
_PROSE = re.compile(r"\s*(?://|/?\*|#(?!include|define|if|endif|\[)|--|\"\"\"|''\')")
_TOP_LEVEL = re.compile(r"^(?:class|def) ")


class Stroke(StrEnum):
    """The kind of a keystroke."""

    END = "end"  # a character at the end of its line
    MIDDLE = "middle"  # a character with code to its right
    ENTER = "enter"  # a line break with indentation, or one level of it
    DELETION = "deletion"


@dataclass(frozen=True, slots=True)
class Keystroke:
    """One change: `text` replaces `removed` characters from (row, column) on. The cursor is then after it."""

    row: int
    column: int
    removed: int
    text: str
    stroke: Stroke
    invoked: bool

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column of the cursor after the change, in characters."""
        last = self.text.rfind("\n")
        if last < 0:
            return self.row, self.column + len(self.text)
        return self.row + self.text.count("\n"), len(self.text) - last - 1


@dataclass(frozen=True, slots=True)
class Replay:
    """A document and the keystrokes typed into it."""

    text: str
    keystrokes: tuple[Keystroke, ...]


@dataclass(frozen=True, slots=True)
class _Gap:
    """Removed text: whole lines, or part of one (`column` is where; None for lines)."""

    row: int
    lines: tuple[str, ...]
    column: int | None = None


def make_replay(files: Sequence[SourceFile], lines: int, keystrokes: int | None, seed: int) -> Replay:
    """Return a document of about `lines` lines and `keystrokes` keystrokes in its middle.

    None means all available keystrokes; the block then ends as it was. Raises InputError if `files` have too little
    code.
    """
    rng = random.Random(seed)
    block = _block(files)
    gaps = _gaps(block, rng)
    above, below = _filler(files, max(0, lines - len(block)))
    document = _without(block, gaps)
    made: list[Keystroke] = []
    while gaps and (keystrokes is None or len(made) < keystrokes):
        # Gaps are typed in random order, as people work. Each moves the rows of those below it.
        gap = gaps.pop(rng.randrange(len(gaps)))
        made += _typed(gap, len(above), rng)
        gaps = [_moved(other, gap) for other in gaps]
    if keystrokes is not None and len(made) < keystrokes:
        raise InputError(f"the block has only {len(made)} keystrokes to offer; ask for fewer than {keystrokes}")
    return Replay("\n".join([*above, *document, *below]) + "\n", tuple(made[:keystrokes]))


def make_place(file: SourceFile, rng: random.Random) -> Replay | None:
    """Return a document without one line, or without some arguments, and the keystrokes that write them.

    Nobody mistypes or asks. Prose and what stands among the first lines of a file are not typed. None if nothing fits.
    """
    lines = file.text.split("\n")
    rows = [
        row
        for row in range(FIRST_LINES, len(lines))
        if SMALLEST_LINE <= len(lines[row].strip()) <= LARGEST_LINE and not _PROSE.match(lines[row])
    ]
    if not rows:
        return None
    row = rng.choice(rows)
    line, arguments = lines[row].rstrip(), _ARGUMENTS.search(lines[row])
    if arguments and rng.random() < MIDDLE_SHARE:
        start, text, right, stroke = arguments.start(1), arguments[1], line[arguments.end(1) :], Stroke.MIDDLE
    else:
        start = len(line) - len(line.lstrip())
        text, right, stroke = line[start:], "", Stroke.END
    lines[row] = line[:start] + right
    keys = (Keystroke(row, start + at, 0, letter, stroke, False) for at, letter in enumerate(text))
    return Replay("\n".join(lines), tuple(keys))


def apply(lines: list[str], key: Keystroke) -> None:
    """Apply a keystroke to the document's lines (without line ends)."""
    line = lines[key.row]
    changed = line[: key.column] + key.text + line[key.column + key.removed :]
    lines[key.row : key.row + 1] = changed.split("\n")


def _block(files: Sequence[SourceFile]) -> list[str]:
    """Return the first run of code that starts at a top-level definition, is long enough, and is not data or prose."""
    for file in files:
        lines = file.text.split("\n")
        for row in (row for row, line in enumerate(lines) if _TOP_LEVEL.match(line)):
            block = lines[row : row + BLOCK_LINES]
            code = [line for line in block if line.strip() and not line.lstrip().startswith(("#", '"', "'"))]
            enough = len(block) == BLOCK_LINES and len(code) > 0.75 * BLOCK_LINES
            if enough and max(map(len, block)) < 120 and all("\t" not in line and '"""' not in line for line in block):
                return [line.rstrip() for line in block]
    raise InputError("no file has a long enough run of plain code; give other sources")


def _gaps(block: Sequence[str], rng: random.Random) -> list[_Gap]:
    """Return disjoint gaps over the whole block, top to bottom."""
    found = []
    row = 1
    while row < len(block) - 6:
        arguments = _ARGUMENTS.search(block[row])
        if arguments and rng.random() < MIDDLE_SHARE:
            found.append(_Gap(row, (arguments.group(1),), arguments.start(1)))
            row += 1
        elif block[row].strip() and rng.random() < 0.5:
            count = rng.randint(1, 4)
            taken = block[row : row + count]
            while not taken[-1].strip():
                taken = taken[:-1]
            found.append(_Gap(row, tuple(taken)))
            row += len(taken)
        row += 1
    # Rows refer to the initial document, in which each removed run of lines is one empty line.
    missing = 0
    shifted = []
    for gap in found:
        shifted.append(_Gap(gap.row - missing, gap.lines, gap.column))
        missing += len(gap.lines) - 1
    return shifted


def _without(block: Sequence[str], gaps: Sequence[_Gap]) -> list[str]:
    lines = list(block)
    for gap in gaps:
        if gap.column is None:
            lines[gap.row : gap.row + len(gap.lines)] = [""]
        else:
            line = lines[gap.row]
            lines[gap.row] = line[: gap.column] + line[gap.column + len(gap.lines[0]) :]
    return lines


def _moved(gap: _Gap, typed: _Gap) -> _Gap:
    return _Gap(gap.row + len(typed.lines) - 1, gap.lines, gap.column) if gap.row > typed.row else gap


def _typed(gap: _Gap, first_row: int, rng: random.Random) -> Iterator[Keystroke]:
    row = first_row + gap.row
    if gap.column is not None:
        yield from _letters(row, gap.column, gap.lines[0], Stroke.MIDDLE, rng)
        return
    before = ""
    for number, line in enumerate(gap.lines):
        wanted = len(line) - len(line.lstrip())
        if number:
            brought = (len(before) - len(before.lstrip()) + INDENT * before.endswith(":")) if line.strip() else 0
            yield _key(row, len(before), 0, "\n" + " " * brought, Stroke.ENTER, rng)
            row += 1
        else:
            brought = 0
        yield from _indentation(row, brought, wanted, rng)
        yield from _letters(row, wanted, line.lstrip(), Stroke.END, rng)
        before = line


def _indentation(row: int, brought: int, wanted: int, rng: random.Random) -> Iterator[Keystroke]:
    while brought > wanted:
        size = min(INDENT, brought - wanted)
        brought -= size
        yield _key(row, brought, size, "", Stroke.DELETION, rng)
    while brought < wanted:
        size = min(INDENT, wanted - brought)
        yield _key(row, brought, 0, " " * size, Stroke.ENTER, rng)
        brought += size


def _letters(row: int, column: int, text: str, stroke: Stroke, rng: random.Random) -> Iterator[Keystroke]:
    for offset, letter in enumerate(text):
        if rng.random() < TYPO_SHARE:
            yield _key(row, column + offset, 0, rng.choice("etaoinsr"), stroke, rng)
            yield _key(row, column + offset, 1, "", Stroke.DELETION, rng)
        yield _key(row, column + offset, 0, letter, stroke, rng)


def _key(row: int, column: int, removed: int, text: str, stroke: Stroke, rng: random.Random) -> Keystroke:
    return Keystroke(row, column, removed, text, stroke, rng.random() < INVOKED_SHARE)


def _filler(files: Sequence[SourceFile], lines: int) -> tuple[list[str], list[str]]:
    """Return other code that parses, half above the block and half below, as whole top-level definitions."""
    usable = [file for file in reversed(files) if "\r" not in file.text and "\t" not in file.text]
    half = lines // 2
    return _definitions(usable[::2], half), _definitions(usable[1::2], half)


def _definitions(files: Sequence[SourceFile], lines: int) -> list[str]:
    pool: list[str] = []
    while len(pool) < lines and files:
        for file in files:
            taken = _leading_definitions(file.text, lines - len(pool))
            pool += taken
            if lines - len(pool) < SMALLEST_REST:
                return pool
    return pool


def _leading_definitions(text: str, most: int) -> list[str]:
    """Return at most `most` leading lines of `text`, ending after a top-level statement; none if it does not parse."""
    tree = syntax.parse(text, "python")
    if tree is None or tree.root_node.has_error:
        return []
    ends = [node.end_point.row + 1 for node in tree.root_node.children if node.end_point.row < most]
    return text.split("\n")[: ends[-1]] if ends else []
