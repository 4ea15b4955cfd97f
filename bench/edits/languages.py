"""Measures next edits in other languages: renames that TypeScript's own language service finds, and false alarms.

    python -m bench.edits.languages --sources training/held-out-languages --typescript FOLDER [--each N] [--out FILE]

FOLDER is the unpacked package `typescript` 5.x of npm; without it, only false alarms are measured. The last line is
JSON.
"""

import argparse
import json
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.edits.__main__ import SEED, print_table, run_case, summarise
from bench.edits.case import LONGEST, MOST_OCCURRENCES, Case
from bench.json_lines import write_lines
from bench.replay.sources import SourceFile
from infill_engine.edits.changes import make
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import Change
from infill_engine.text import syntax
from infill_engine.text.languages.queries import load_query
from infill_engine.text.languages.registry import language

SERVICE = Path(__file__).with_name("rename_locations.mjs")
OF_SERVICE = ("javascript", "typescript", "typescriptreact")
KINDS = {
    "VariableDeclaration": "rename local",
    "BindingElement": "rename local",
    "Parameter": "rename parameter",
    "FunctionDeclaration": "rename function",
    "ClassDeclaration": "rename class",
    "InterfaceDeclaration": "rename class",
    "TypeAliasDeclaration": "rename class",
    "TypeParameter": "rename type parameter",
    "MethodDeclaration": "rename method",
    "PropertyDeclaration": "rename attribute",
    "ImportSpecifier": "rename import",
    "ImportClause": "rename import",
    "NamespaceImport": "rename import",
}
MOST_FROM_FILE = 2  # cases of a kind


def main() -> None:
    """Make the cases, run them, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.edits.languages", description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=Path, required=True, help="a folder with a folder for each language")
    parser.add_argument("--typescript", type=Path, help="the folder of the package `typescript`")
    parser.add_argument("--each", type=int, default=60, help="cases of each kind and language, at most (default: 60)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, help="raw results as JSON lines")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    rows: list[dict[str, Any]] = []
    summaries = {}
    for name in sorted(path.name for path in options.sources.iterdir() if path.is_dir()):
        if name == "python" or load_query(language(name), "locals") is None:
            continue
        files = code_files(options.sources / name, name, chance)
        cases = list(_harmless(files, name, chance, options.each))
        if name in OF_SERVICE and options.typescript is not None:
            cases += _renames(files, name, chance, options.each, options.sources / name, options.typescript)
        found = [{**run_case(case), "language": name} for case in cases]
        rows += found
        summaries[name] = summarise(found)
        print(f"\n{name}: {len(files)} files")
        print_table(summaries[name])
    if options.out is not None:
        write_lines(rows, options.out)
    print(json.dumps(summaries))


def code_files(folder: Path, name: str, chance: random.Random) -> list[SourceFile]:
    """Return the files that are short enough and free of syntax errors, in random order."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        text = path.read_bytes().decode("utf-8", "replace")
        if (
            re.search(r"\.d\.[cm]?ts$", path.name)
            or len(text) > LONGEST
            or any(ord(character) > 0xFFFF for character in text)
        ):
            continue  # declarations are generated; the service counts UTF-16 units
        tree = syntax.parse(text, name)
        if tree is not None and not syntax.faults(tree):
            relative = path.relative_to(folder)
            found.append(SourceFile(relative.parts[0], str(relative), text))
    chance.shuffle(found)
    return found


def _renames(
    files: Sequence[SourceFile], name: str, chance: random.Random, each: int, folder: Path, typescript: Path
) -> list[Case]:
    """Rename what the service can rename, to a name that the file does not have."""
    by_path = {str((folder / file.path).resolve()): file for file in files}
    made: dict[str, list[Case]] = {kind: [] for kind in dict.fromkeys(KINDS.values())}
    for row in _asked(list(by_path), typescript):
        file, kind = by_path[row["path"]], KINDS.get(row["kind"], "")
        if not kind or len(row["places"]) > MOST_OCCURRENCES:
            continue
        cases = made[kind]
        if len(cases) >= each or sum(case.file is file for case in cases) >= MOST_FROM_FILE:
            continue
        source = ParsedText.parse(file.text, name)
        spots = [spot for spot in row["places"] if source is not None and is_code(source, spot[0])]
        if len(spots) < 2 or spots[0] != row["places"][0] or row["name"] == "this":
            continue
        start, end, *_ = spots[0]
        old = file.text[start:end]
        new = f"{old}{chance.choice(('Next', 'Other', 'Item', 'Value'))}"
        if new in file.text:
            continue
        changes = [Change(at, to, f"{before}{new}{after}") for at, to, before, after in spots]
        case = Case(file, kind, file.text, (Change(start, end, new),), make(file.text, sorted(changes)), name)
        if changes[0].new == new:  # else the definition itself would have to be spelled out
            cases.append(case)
    return [case for cases in made.values() for case in cases]


def _asked(paths: Sequence[str], typescript: Path) -> Iterator[dict[str, Any]]:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as listed:
        json.dump(paths, listed)
        listed.flush()
        command = ["node", str(SERVICE), str(typescript.resolve()), listed.name]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    return map(json.loads, ran.stdout.splitlines())


def _harmless(files: Sequence[SourceFile], name: str, chance: random.Random, each: int) -> Iterator[Case]:
    """Yield edits without a consequence, at most one of a kind from a file."""
    counts: dict[str, int] = {}
    for file in files:
        source = ParsedText.parse(file.text, name)
        for kind, change in _edits(file.text, source, name, chance) if source is not None else ():
            if change is not None and counts.get(kind, 0) < each:
                counts[kind] = counts.get(kind, 0) + 1
                yield Case(file, kind, file.text, (change,), None, name)


def _edits(text: str, source: ParsedText, name: str, chance: random.Random) -> Iterator[tuple[str, Change | None]]:
    lexical = language(name).lexical
    mark = next((each for each in ("//", "#", "--") if each in lexical.comment_marks), "")
    ends = [m.start() for m in re.finditer(r"(?<=[;})])\n", text) if is_code(source, m.start() - 1)]
    starts = [m.start() for m in re.finditer(r"(?m)^[ \t]*[^\W\d]\w*", text) if is_code(source, m.end() - 1)]
    comments = [
        m for m in re.finditer(r"\b[^\W\d_]{4,}\b", text) if _type_at(source, m.start()) in source.nodes.comments
    ]
    strings = [
        m
        for m in re.finditer(r"\b[^\W\d_]{4,} [^\W\d_]{3,} [^\W\d_]{3,}\b", text)
        if _type_at(source, m.start()) in source.syntax.string_parts
    ]
    if ends and mark:
        at = chance.choice(ends)
        yield "comment added", Change(at, at, f" {mark} see the section on limits")
    if comments:
        one = chance.choice(comments)
        yield "comment changed", Change(one.start(), one.end(), "otherwise")
    if strings and text.count((one := chance.choice(strings)).group()) == 1:
        yield "message changed", Change(one.start(), one.end(), "something else happened")
    if starts:
        at = chance.choice(starts)
        yield "blank line", Change(at, at, "\n")
        indented = chance.choice(starts)
        yield "indented", Change(indented, indented, "  ")
    removed = [m for m in re.finditer(r"(?m)^[ \t]+[^\n{}]*;[ \t]*\n", text) if is_code(source, m.end() - 2)]
    if removed:
        one = chance.choice(removed)
        yield "statement removed", Change(one.start(), one.end(), "")
        added = chance.choice(removed)
        yield "statement added", Change(added.end(), added.end(), re.sub(r"\S.*", "recordProgress();", added.group()))


def _type_at(source: ParsedText, at: int) -> str:
    return source.node_at(at, at + 1).type


def is_code(source: ParsedText, at: int) -> bool:
    kind = _type_at(source, at)
    return kind not in source.nodes.comments | source.nodes.strings | source.syntax.string_parts


if __name__ == "__main__":
    main()
