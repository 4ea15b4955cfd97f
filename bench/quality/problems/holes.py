"""Draws holes from the held-out packages with a fixed seed. The code is independent of the trainer's.

    python -m bench.quality.problems.holes --download training/heldout
    python -m bench.quality.problems.holes --download training/calibration --held-out-for calibration
    python -m bench.quality.problems.holes --download training/recent --held-out-for recent

The kinds and what they remove:
    line        the rest of a code line, from a cursor anywhere among its non-blank characters
    middle      a whole argument, operand, element, index or condition with code to its right
    statement   a whole line of code; its indentation stays
    block       the body of a compound statement, two to five lines; the first line's indentation stays

Excluded are lines of comments, docstrings and other multi-line strings, lines that end in a comment, and files that are
tables of data.
"""

import argparse
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tree_sitter import Node

from bench.quality.reports.metrics import is_trivial
from bench.replay.sources import SourceFile
from bench.sources import download, read_packages
from infill_engine.context.project_text import joined, nearest_first
from infill_engine.errors import InfillError, InputError
from infill_engine.text import syntax
from infill_engine.types import ProjectText

KINDS = ("line", "middle", "statement", "block")
BLOCK_LINES = (2, 5)
LONGEST = 400  # characters of a gold text; longer ones are data
DATA_LINES = 150  # a longer file with fewer than one definition per hundred lines is data
TRIES = 60  # draws per requested hole before a package counts as exhausted
_MIDDLE_PARENTS = frozenset(
    """
    argument_list subscript binary_operator comparison_operator boolean_operator keyword_argument list tuple set pair
    conditional_expression parenthesized_expression default_parameter if_statement while_statement elif_clause
    for_statement with_item
    """.split()
)

_DEFINITION = re.compile(r"^[ ]*(?:async def|def|class) ", re.MULTILINE)

NO_PROJECT_TEXT = ProjectText()
Draw = Callable[["FileHoles", random.Random], "tuple[int, int, int, int] | None"]


@dataclass(frozen=True, slots=True)
class Task:
    """One hole: a document without the gold text, and the cursor in it (row and column in characters).

    `cluster` is the unit for resampling the intervals: a package or a problem. `project` is the text of the surrounding
    files, `path` the document's path among them.
    """

    id: str
    cluster: str
    kind: str
    text: str
    row: int
    column: int
    gold: str
    trivial: bool = False
    language: str = "python"
    project: ProjectText = NO_PROJECT_TEXT
    path: str = ""

    @property
    def sides(self) -> tuple[str, str]:
        """The document's text before and after the hole."""
        lines = self.text.split("\n")
        above, line, below = lines[: self.row], lines[self.row], lines[self.row + 1 :]
        return "\n".join((*above, line[: self.column])), "\n".join((line[self.column :], *below))


@dataclass(frozen=True, slots=True)
class FileHoles:
    """The possible holes of a file: rows of code, and spans as (row, column, row, column)."""

    source: SourceFile
    lines: list[str]
    code_rows: list[int]
    middles: list[tuple[int, int, int, int]]
    blocks: list[tuple[int, int, int, int]]
    statement_rows: list[int] | None = None  # rows where a statement begins; None means any row of code

    def pool(self, kind: str) -> Sequence[object]:
        """Return the places from which holes of a kind are drawn."""
        statements = self.code_rows if self.statement_rows is None else self.statement_rows
        pools: dict[str, Sequence[object]] = {"middle": self.middles, "block": self.blocks, "statement": statements}
        return pools.get(kind, self.code_rows)


def draw_tasks(
    files: Sequence[SourceFile],
    per_kind: int,
    seed: int,
    *,
    with_project: bool = False,
    read: Callable[[SourceFile], FileHoles] | None = None,
) -> list[Task]:
    """Return `per_kind` non-trivial holes of each kind, evenly over packages, and the trivial ones met on the way.

    `read` finds the places in a file; without it the files are Python. Raises InputError if no file has a hole.
    """
    packages = sorted({file.package for file in files})
    tasks: list[Task] = []
    for number, package in enumerate(packages):
        rng = random.Random(f"{seed} {package}")
        usable = [each for file in files if file.package == package if (each := (read or _read)(file)).code_rows]
        share = per_kind // len(packages) + (number < per_kind % len(packages))
        if usable:
            drawn = [task for kind in KINDS for task in _drawn(usable, kind, share, rng, with_project=with_project)]
            tasks += sorted(drawn, key=lambda task: task.id)  # by file, so that its project text is indexed once
    if not tasks:
        raise InputError("the sources hold no code to make holes in; give a folder of packages")
    return tasks


def _drawn(
    files: Sequence[FileHoles], kind: str, wanted: int, rng: random.Random, *, with_project: bool
) -> Iterator[Task]:
    weights = [len(file.pool(kind)) for file in files]
    if not any(weights):
        return
    seen: set[tuple[str, int, int]] = set()
    left = wanted
    for _ in range(TRIES * wanted):
        if not left:
            return
        file = rng.choices(files, weights)[0]
        span = _DRAWS[kind](file, rng)
        if span is None or (file.source.path, *span[:2]) in seen:
            continue
        seen.add((file.source.path, *span[:2]))
        task = _task(file, kind, span, files if with_project else ())
        if task.gold.strip() and len(task.gold) <= LONGEST:
            left -= not task.trivial
            yield task


def _task(file: FileHoles, kind: str, span: tuple[int, int, int, int], project: Sequence[FileHoles]) -> Task:
    row, column, end_row, end_column = span
    lines = file.lines
    gold = "\n".join([lines[row][column:], *lines[row + 1 : end_row + 1]]) if end_row > row else ""
    gold = gold[: len(gold) - len(lines[end_row]) + end_column] if gold else lines[row][column:end_column]
    joined = lines[row][:column] + lines[end_row][end_column:]
    text = "\n".join([*lines[:row], joined, *lines[end_row + 1 :]])
    source = file.source
    return Task(
        id=f"{source.path}:{row + 1}:{column + 1}:{kind}",
        cluster=source.package,
        kind=kind,
        text=text,
        row=row,
        column=column,
        gold=gold,
        trivial=is_trivial(gold),
        project=_around(file, project),
        path=source.path,
    )


def _around(file: FileHoles, project: Sequence[FileHoles]) -> ProjectText:
    """Return the other files of a package, nearest first, as the server would have read them."""
    own = PurePosixPath(file.source.path)
    others = [PurePosixPath(other.source.path) for other in project if other is not file]
    texts = {PurePosixPath(other.source.path): other.source.text for other in project}
    return joined((str(path), texts[path]) for path in nearest_first(own, others))


def _rest_of_line(file: FileHoles, rng: random.Random) -> tuple[int, int, int, int] | None:
    row = rng.choice(file.code_rows)
    line = file.lines[row]
    columns = [column for column, character in enumerate(line) if not character.isspace()]
    return row, rng.choice(columns), row, len(line)


def _statement(file: FileHoles, rng: random.Random) -> tuple[int, int, int, int] | None:
    row = rng.choice(file.code_rows if file.statement_rows is None else file.statement_rows)
    line = file.lines[row]
    return row, len(line) - len(line.lstrip()), row, len(line)


def _middle(file: FileHoles, rng: random.Random) -> tuple[int, int, int, int] | None:
    return rng.choice(file.middles) if file.middles else None


def _block(file: FileHoles, rng: random.Random) -> tuple[int, int, int, int] | None:
    return rng.choice(file.blocks) if file.blocks else None


_DRAWS: dict[str, Draw] = {"line": _rest_of_line, "middle": _middle, "statement": _statement, "block": _block}


def _read(source: SourceFile) -> FileHoles:
    """Return the possible holes of a file; none if it does not parse or has line ends other than LF."""
    tree = syntax.parse(source.text, "python")
    lines = source.text.split("\n")
    if tree is None or tree.root_node.has_error or "\r" in source.text:
        return FileHoles(source, lines, [], [], [])
    encoded = [line.encode() for line in lines]
    prose: set[int] = set()
    middles: list[tuple[int, int, int, int]] = []
    blocks: list[tuple[int, int, int, int]] = []
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        first, last = node.start_point, node.end_point
        if _is_prose(node):
            prose.update(range(first.row, last.row + 1))
            continue
        place = (first.row, column_of(encoded, first), last.row, column_of(encoded, last))
        if _is_middle(node) and lines[last.row][place[3] :].strip():
            middles.append(place)
        if node.type == "block" and BLOCK_LINES[0] <= last.row - first.row + 1 <= BLOCK_LINES[1]:
            blocks.append((*place[:3], len(lines[last.row])))
        waiting.extend(node.children)
    code = [row for row, line in enumerate(lines) if line.strip() and row not in prose]
    if len(code) > DATA_LINES and 100 * len(_DEFINITION.findall(source.text)) < len(code):
        return FileHoles(source, lines, [], [], [])
    return FileHoles(
        source,
        lines,
        code,
        [place for place in middles if place[0] not in prose],
        [place for place in blocks if prose.isdisjoint(range(place[0], place[2] + 1))],
    )


def _is_prose(node: Node) -> bool:
    """Return whether the node is a comment, a docstring, or another multi-line string."""
    alone = node.parent is not None and node.parent.type == "expression_statement" and node.parent.child_count == 1
    return node.type == "comment" or (
        node.type in ("string", "concatenated_string") and (alone or node.end_point.row > node.start_point.row)
    )


def _is_middle(node: Node) -> bool:
    parent = node.parent
    return (
        node.is_named
        and parent is not None
        and parent.type in _MIDDLE_PARENTS
        and node.type not in ("comment", "block", "else_clause", "elif_clause")
        and node.start_point.row == node.end_point.row
    )


def column_of(encoded: Sequence[bytes], point: "tuple[int, int]") -> int:
    """Return the column, in characters, of a point in UTF-8 lines."""
    row, column = point
    return len(encoded[row][:column].decode("utf-8", "replace"))


def main() -> int:
    from train.corpus.sources import CALIBRATION_PACKAGES, DEVELOPMENT_PACKAGES, RECENT_PACKAGES

    held_out = {
        "development": DEVELOPMENT_PACKAGES,
        "calibration": CALIBRATION_PACKAGES,
        "recent": RECENT_PACKAGES,
    }
    parser = argparse.ArgumentParser(description="Fetch held-out packages and count their holes.")
    parser.add_argument("--download", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--held-out-for", choices=held_out, default="development")
    options = parser.parse_args()
    folder = options.download
    for package in download(held_out[options.held_out_for], folder):
        print(f"left out {package}: it has no wheel that could be downloaded")
    try:
        files = read_packages(folder)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 2
    for package in sorted({file.package for file in files}):
        read = [_read(file) for file in files if file.package == package]
        counts = {kind: sum(len(file.pool(kind)) for file in read) for kind in KINDS}
        print(f"{package}: {len(read)} files, places by kind {counts}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
