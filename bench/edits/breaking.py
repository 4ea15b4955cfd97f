"""Measures whether a next edit breaks what was well: random edits of real code, checked with tools of the language.

    python -m bench.edits.breaking --sources FOLDER [--typescript FOLDER] [--each N] [--only LANGUAGE ...]

The first FOLDER has a folder for each language, the second is the unpacked package `typescript` 5.x of npm. Every
proposal after an edit is applied by itself. It breaks something if the result has a fault that neither the text before
the edit nor the one after it had. If the edit itself made such a fault, the proposal only goes on with it; an undefined
value that the user is told to fill in is none. CPython judges Python, TypeScript's language service JavaScript and
TypeScript. The last line is JSON.
"""

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tree_sitter import Node

from bench.edits.__main__ import SEED
from bench.edits.languages import OF_SERVICE, code_files, is_code
from bench.edits.well_formed import Faults, python_faults, typescript_faults
from bench.replay.sources import SourceFile
from infill_engine.edits.changes import hunk_texts, make, word_chars
from infill_engine.edits.find import find_consequences
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import Change, EditedText, Proposal, applied
from infill_engine.text.languages.registry import language

NEW = "Zq"  # the end of a name that no file has
MOST_TRIES = 40

Random = random.Random
Maker = Callable[[ParsedText, Random], Sequence[Change] | None]


@dataclass(frozen=True, slots=True)
class Tried:
    """A proposal after an edit: the texts before the edit, after it, and after the proposal."""

    file: SourceFile
    kind: str
    edit: Sequence[Change]
    proposal: Proposal
    texts: tuple[str, str, str]


def main() -> None:
    """Make the edits, check what is proposed after them, and print what breaks."""
    parser = argparse.ArgumentParser(prog="python -m bench.edits.breaking", description=__doc__.split("\n")[0])
    parser.add_argument("--sources", type=Path, required=True, help="a folder with a folder for each language")
    parser.add_argument("--typescript", type=Path, help="the folder of the package `typescript`")
    parser.add_argument("--each", type=int, default=100, help="edits of each kind and language (default: 100)")
    parser.add_argument("--only", nargs="+", default=[], help="languages")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    summary = {}
    for folder in sorted(path for path in options.sources.iterdir() if path.is_dir()):
        name = folder.name
        judged = name == "python" or (name in OF_SERVICE and options.typescript is not None)
        if not judged or (options.only and name not in options.only):
            continue
        chance = random.Random(options.seed)
        files = code_files(folder, name, chance)
        counts, tried = try_edits(files, name, chance, options.each)
        for one, new in zip(tried, new_faults(tried, name, options.typescript), strict=True):
            counts[one.kind][f"break: {one.proposal.kind.value}" if new else "sound"] += 1
            if new:
                _print(one, new)
        summary[name] = {kind: dict(sorted(found.items())) for kind, found in counts.items()}
        print(name, json.dumps(summary[name]))
    print(json.dumps(summary))


def try_edits(
    files: Sequence[SourceFile], name: str, chance: Random, each: int
) -> tuple[dict[str, Counter[str]], list[Tried]]:
    """Make random edits. Return how many of each kind were made and followed by nothing, and all proposals."""
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in MAKERS}
    tried: list[Tried] = []
    for kind, maker in MAKERS.items():
        for _ in range(each * MOST_TRIES):
            file = chance.choice(files)
            source = ParsedText.parse(file.text, name)
            changes = None if source is None else maker(source, chance)
            if counts[kind]["edits"] >= each:
                break
            if not changes:
                continue
            after = make(file.text, changes)
            edited = EditedText(file.text, after, tuple(changes), name, history=hunk_texts(file.text, changes))
            found = find_consequences(edited).proposals
            counts[kind] += Counter({"edits": 1, "silent": not found, "proposals": len(found)})
            for proposal in found:
                result = applied(after, proposal.edits)
                assert result is not None
                tried.append(Tried(file, kind, changes, proposal, (file.text, after, result)))
    return counts, tried


def new_faults(tried: Sequence[Tried], name: str, typescript: Path | None) -> Iterator[Faults]:
    """Yield the faults of each result that neither of the texts before it had; the user's new names are none."""
    found: Iterator[Sequence[Faults]]
    if name == "python":
        found = ([python_faults(text) for text in one.texts] for one in tried)
    else:
        assert typescript is not None
        found = typescript_faults([(f"/{one.file.path}", one.texts) for one in tried], typescript)
    for one, texts in zip(tried, found, strict=True):
        before, after, result = map(_plain, texts)
        made = after - before  # the user's own: a proposal may go on with it
        kinds = {_kind(fault) for fault in made}
        words = {word.removesuffix(NEW) for change in one.edit for word in re.findall(r"[\w$]+", change.new)}
        to_fill_in = words if one.proposal.kind.has_values_to_write else set()
        new = result - (before | after)
        yield Faults(
            {
                fault: count
                for fault, count in new.items()
                if _kind(fault) not in kinds and to_fill_in.isdisjoint(re.findall(r"[\w$]+", fault))
            }
        )


def _plain(faults: Faults) -> Faults:
    """Return the faults as if new names were the old ones."""
    found: Faults = Counter()
    for fault, count in faults.items():
        found[re.sub(r" Did you mean .*", "", fault.replace(NEW, ""))] += count
    return found


def _kind(fault: str) -> str:
    """Return the number of a fault that TypeScript numbers, or else all of it: similar names get different texts."""
    number = fault.split()[0]
    return number if number.isdigit() else fault


def _print(one: Tried, new: Faults) -> None:
    before = one.texts[0]
    line = before.count("\n", 0, one.edit[0].start) + 1
    edits = [(before[change.start : change.end], change.new) for change in one.edit]
    print(f"{one.kind}: {one.file.path}:{line} {edits} {one.proposal.label!r} {dict(new)}")
    for edit in one.proposal.edits[:6]:
        row = one.texts[1].count("\n", 0, edit.span.start)
        print(f"    {row + 1}: {edit.span.text!r} -> {edit.new!r} | {one.texts[1].split(chr(10))[row].strip()[:100]}")


def _names(source: ParsedText) -> list[tuple[int, str]]:
    """Return the names in the code of a text with their places, and no keywords."""
    keywords = set(language(source.language).lexical.keywords)
    chars = "[\\w$]" if word_chars(source.language).match("$") else r"\w"
    found = ((each.start(), each.group()) for each in re.finditer(rf"(?<!{chars})[^\W\d]{chars}*", source.text))
    return [(at, name) for at, name in found if name not in keywords and is_code(source, at)]


def _renamed(
    source: ParsedText, chance: Random, uses: int, *, first: bool = False, known: bool = False
) -> list[Change]:
    """Replace a name by a new one, or one of the text, at its first place or at a random one, and at others near it."""
    names = _names(source)
    if not names:
        return []
    _, name = chance.choice(names)
    new = chance.choice(names)[1] if known else name + NEW
    same = [at for at, each in names if each == name]
    start = 0 if first else chance.randrange(len(same))
    near = sorted(same, key=lambda at: abs(at - same[start]))[:uses]
    return [] if new == name or len(near) < uses else [Change(at, at + len(name), new) for at in sorted(near)]


def _statement_removed(source: ParsedText, chance: Random) -> list[Change]:
    bodies = [node for node in _nodes(source) if node.type in source.nodes.bodies and node.named_child_count > 1]
    if not bodies:
        return []
    start, end = source.span_of(chance.choice(chance.choice(bodies).named_children))
    first, last = source.text.rfind("\n", 0, start) + 1, source.text.find("\n", end)
    alone = last > 0 and not source.text[first:start].strip() and source.text[end:last].strip() in ("", ";")
    return [Change(first, last + 1, "")] if alone and source.text.count("\n", start, end) < 3 else []


def _literal_changed(source: ParsedText, chance: Random) -> list[Change]:
    types = source.syntax.numbers | source.syntax.string_parts
    found = [node for node in _nodes(source) if node.type in types and not node.named_child_count]
    if not found:
        return []
    node = chance.choice(found)
    start, end = source.span_of(node)
    return [Change(start, end, "7" if node.type in source.syntax.numbers else "other words")]


def _parameter_removed(source: ParsedText, chance: Random) -> list[Change]:
    lists = [node for node in _nodes(source) if node.type in source.syntax.parameter_lists and node.named_child_count]
    if not lists:
        return []
    nodes = chance.choice(lists).named_children
    at = chance.randrange(len(nodes))
    start = source.span_of(nodes[at - 1])[1] if at else source.span_of(nodes[at])[0]
    end = source.span_of(nodes[at])[1] if at or len(nodes) == 1 else source.span_of(nodes[at + 1])[0]
    return [Change(start, end, "")]


def _parameter_added(source: ParsedText, chance: Random) -> list[Change]:
    lists = [node for node in _nodes(source) if node.type in source.syntax.parameter_lists and node.named_child_count]
    if not lists:
        return []
    at = source.span_of(chance.choice(chance.choice(lists).named_children))[1]
    return [Change(at, at, f", extra{NEW}")]


def _nodes(source: ParsedText) -> Iterator[Node]:
    waiting = [source.root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.named_children


MAKERS: dict[str, Maker] = {
    "first place renamed": lambda source, chance: _renamed(source, chance, 1, first=True),
    "one place renamed": lambda source, chance: _renamed(source, chance, 1),
    "two places renamed": lambda source, chance: _renamed(source, chance, 2),
    "another name of the file": lambda source, chance: _renamed(source, chance, 1, known=True),
    "another name, twice": lambda source, chance: _renamed(source, chance, 2, known=True),
    "statement removed": _statement_removed,
    "literal changed": _literal_changed,
    "parameter removed": _parameter_removed,
    "parameter added": _parameter_added,
}


if __name__ == "__main__":
    main()
