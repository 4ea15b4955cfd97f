"""Draws holes from held-out files of many languages, at the places that the language's query marks.

The folder has one folder per language, named by an LSP identifier or an alias of it, with one folder per package:

    held-out-languages/go/caddy/cmd/main.go
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tree_sitter import Node

from bench.quality.problems.holes import BLOCK_LINES, FileHoles, Task, column_of, draw_tasks
from bench.replay.sources import SourceFile
from bench.sources import read_folder
from infill_engine.errors import InputError
from infill_engine.text import syntax
from infill_engine.text.languages import Language, grammar_of, language
from infill_engine.text.languages.queries import ARGUMENT, BLOCK, PROSE, STATEMENT, captures

FAULTS_PER_LINE = 0.005  # a file with more is written for another grammar or full of macros
MOST_FILES = 400  # per language
_OPENERS = ("{", "do", "then")  # with which a block node may begin
_CLOSERS = ("done", "fi", "end")


def draw_language_tasks(
    folder: Path, per_kind: int, seed: int, *, only: Sequence[str] = (), with_project: bool = False
) -> list[Task]:
    """Return `per_kind` non-trivial holes of each kind and language, or of the languages in `only`.

    Raises InputError for a folder without any.
    """
    tasks: list[Task] = []
    for known, files in read_languages(folder, only):
        try:
            drawn = draw_tasks(files, per_kind, seed, with_project=with_project, read=partial(holes_of, known))
        except InputError:
            continue
        tasks += [replace(task, id=f"{known.id}/{task.id}", language=known.id) for task in drawn if not task.trivial]
    if not tasks:
        raise InputError(
            f"{folder} holds no code to make holes in; give a folder with a folder for each language, such as go, "
            "and in it one for each package (bench/README.md says how to fetch them)"
        )
    return tasks


def read_languages(folder: Path, only: Sequence[str] = ()) -> Iterator[tuple[Language, list[SourceFile]]]:
    """Yield the languages with a usable grammar, and their files; if `only` names some, no others."""
    wanted = {language(name).id for name in only}
    subfolders = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    for subfolder in subfolders:
        known = language(subfolder.name)
        if grammar_of(known) is None or (wanted and known.id not in wanted):
            continue
        files = [file for package in sorted(subfolder.iterdir()) if package.is_dir() for file in read_folder(package)]
        if files:
            step = max(1, len(files) // MOST_FILES)
            yield known, files[::step]


def holes_of(known: Language, source: SourceFile) -> FileHoles:
    """Return the possible holes of a file; none if it does not parse or has line ends other than LF."""
    lines = source.text.split("\n")
    nothing = FileHoles(source, lines, [], [], [])
    tree = syntax.parse(source.text, known.id)
    if tree is None or "\r" in source.text or syntax.faults(tree) > FAULTS_PER_LINE * len(lines):
        return nothing
    encoded = [line.encode() for line in lines]
    found = captures(known, tree.root_node)
    prose = {row for node in found.get(PROSE, []) for row in range(node.start_point.row, node.end_point.row + 1)}
    middles, blocks, statements = [], [], set()
    for node in found.get(ARGUMENT, []):
        (row, start), (end_row, end) = node.start_point, node.end_point
        if row == end_row and row not in prose:
            span = (row, column_of(encoded, (row, start)), row, column_of(encoded, (row, end)))
            if lines[row][span[3] :].strip():
                middles.append(span)
    for node in found.get(STATEMENT, []):
        row, start = node.start_point
        if row < len(lines) and not encoded[row][:start].strip() and row not in prose and lines[row].strip():
            statements.add(row)
    for node in found.get(BLOCK, []):
        within = _inner_rows(node, lines)
        if within is None:
            continue
        first, last = within
        rows = range(first, last + 1)
        if BLOCK_LINES[0] <= len(rows) <= BLOCK_LINES[1] and prose.isdisjoint(rows) and lines[first].strip():
            blocks.append((first, len(lines[first]) - len(lines[first].lstrip()), last, len(lines[last])))
    code = [row for row, line in enumerate(lines) if line.strip() and row not in prose]
    return FileHoles(source, lines, code, sorted(set(middles)), sorted(set(blocks)), sorted(statements))


def _inner_rows(node: Node, lines: list[str]) -> tuple[int, int] | None:
    """Return the first and last row within a block, without what opens and closes it; None if it shares a row.

    `lines` are those of the whole text.
    """
    (first, column), (last, end) = node.start_point, node.end_point
    begins = lines[first].encode()[column:].decode("utf-8", "replace").strip()
    if not begins or begins.endswith(_OPENERS):
        first += 1
    elif lines[first].encode()[:column].strip():
        return None
    if last >= len(lines) or not lines[last].encode()[:end].strip(b" \t}"):
        last -= 1
    while last > first and not lines[last].strip():
        last -= 1
    last -= last >= first and lines[last].strip() in _CLOSERS
    return (first, last) if first <= last else None
