"""The last use of an imported name, a local variable or a private field was removed: propose to remove it, too."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors
from infill_engine.edits.resolution.captures import defined_in
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import FOREIGN, LOCALS, Occurrence, Role, defines
from infill_engine.edits.tokens import WORD
from infill_engine.edits.types import Edit, Kind, Proposal, Span
from infill_engine.text import lines

IMPORT, LOCAL = 0.6, 0.52
MOST_WORDS = 12  # that an edit removes
_VALUE = re.compile(r"(?::[^=]*)?:?=(?!=)")
_FIELD = re.compile(r"(?:[:;=](?!=)|$)")
_PLAIN = re.compile(r"[^()`]*\Z")  # a value whose computation does nothing else


def propose_unused(edit: ParsedEdit) -> list[Proposal]:
    """Return a proposal for each name whose last use the changes removed."""
    before, after = edit.before.text, edit.after.text
    gone = {word for change in edit.changes for word in WORD.findall(before, change.start, change.end)}
    kept = {word for change in edit.changes for word in WORD.findall(change.new)}
    words = sorted(word for word in gone - kept if not word.isdigit() and len(word) > 1)
    if len(words) > MOST_WORDS or (kept and len(after) >= len(before)):
        return []
    return [proposal for word in words for proposal in _removals(edit, word)]


def _removals(edit: ParsedEdit, word: str) -> Iterator[Proposal]:
    first = next(edit.after.words(word), None)
    if first is None or not defined_in(edit.after, first, first + len(word)):
        return  # most words: their other places need not be looked at
    names, earlier = Names.of(edit.after, word), Names.of(edit.before, word)
    if names.opaque or not names.all:
        return
    one = names.all[0]
    place = edit.back(one.start, one.end)
    old = None if place is None else earlier.at(place[0])
    if old is None or one.owner is None or not defines(one, edit.syntax):
        return
    if not any(use.role is not Role.OTHER and use.owner == old.owner and use.start != old.start for use in earlier.all):
        return  # it was not used before
    if any(use.role is not Role.OTHER or not _is_same_statement(one, use) for use in names.all[1:]):
        return
    found = _import(edit.after, one) if one.kind in FOREIGN else _line(edit.after, one)
    if found is not None:
        confidence = IMPORT if one.kind in FOREIGN else LOCAL
        removal = Edit(Span(*found, edit.after.text[slice(*found)]), "")
        yield Proposal((removal,), f"remove {word}, which nothing uses", confidence, Kind.FIELD)


def _import(source: ParsedText, one: Occurrence) -> tuple[int, int] | None:
    """Return the part of a statement that imports a name: all its lines, or an element of a list."""
    around = [one.node, *ancestors(one.node)]
    at = next((at for at, node in enumerate(around) if node.type in source.syntax.imports), None)
    if at is None:
        return None
    alone = [node for node in around[: at + 1] if len(defined_in(source, *source.span_of(node))) == 1]
    if len(alone) == at + 1:
        return _lines(source, around[at])
    inside = [node for node in alone if node != around[at]]
    return _element(source, inside[-1]) if inside else None


def _element(source: ParsedText, node: Node) -> tuple[int, int]:
    """Return an element of a list with the comma after it, or else before it; its line, if it is alone there."""
    start, end = source.span_of(node)
    first, last = lines.around(source.text, start, end)
    if last < len(source.text) and source.text[first:last].strip().rstrip(",") == source.text[start:end]:
        return first, last + 1
    following = re.compile(r"\s*,[^\S\n]*").match(source.text, end)
    if following is not None:
        return start, following.end()
    before = re.compile(r",\s*\Z").search(source.text, max(0, start - 200), start)
    return (start if before is None else before.start()), end


def _lines(source: ParsedText, node: Node) -> tuple[int, int] | None:
    """Return the lines of a statement that is alone on them."""
    start, end = lines.around(source.text, *source.span_of(node))
    alone = source.text[start:end].strip().rstrip(";") == source.text_of(node).strip().rstrip(";")
    return (start, end + 1) if alone and end < len(source.text) else None


def _is_same_statement(one: Occurrence, other: Occurrence) -> bool:
    """Return whether an import has its own name in the name of the file: `path = require('path')`."""
    return one.kind in FOREIGN and one.node.start_point[0] == other.node.start_point[0]


def _line(source: ParsedText, one: Occurrence) -> tuple[int, int] | None:
    """Return the line that gives a local variable or a private field a value that does nothing else."""
    start, end = lines.around(source.text, one.start, one.end)
    text, sign = source.text[start:end], source.text[one.end : end].strip()
    private = source.syntax.private
    if one.kind in LOCALS:
        declared = any(node.type in source.syntax.functions for node in ancestors(one.node))
        declared = declared and _VALUE.match(sign) is not None
    else:
        declared = private is not None and private.search(text) is not None and _FIELD.match(sign) is not None
    node = source.node_at(start + len(text) - len(text.lstrip()), start + len(text.rstrip().rstrip(";")))
    whole = source.text_of(node).strip().rstrip(";") == text.strip().rstrip(";")
    return (start, end + 1) if declared and whole and _PLAIN.match(sign) and end < len(source.text) else None
