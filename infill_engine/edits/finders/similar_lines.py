"""A line was changed among lines of the same shape: propose the same change for them, with their own names.

self.width = int(width)          became     self.width = max(0, int(width))
self.height = int(height)        and so     self.height = max(0, int(height))
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.context.line_shapes import WORD, is_name, keywords_of, shape_of
from infill_engine.context.name_exchange import exchanged_names, renamed_word
from infill_engine.edits.changes import words_changed
from infill_engine.edits.checks.replaced import Replaced
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.renamings import renamings
from infill_engine.edits.types import Change, Edit, Kind, Proposal, counted
from infill_engine.text import lines
from infill_engine.text.sequences import common_ends

REACH_LINES = 25  # above and below
MOST_SIMILAR_LINES = 8
LEAST_TOKENS = 5  # of a line that has a shape of its own
LONGEST_LINE = 300
BASE, EACH_ANCHOR, MOST_ANCHORS = 0.47, 0.04, 4
MOVED = 0.1  # additional confidence if words are only swapped
SAME_BRANCHING = 1.05  # factor for similar lines in the same `if`
NEXT_TO = 1.1  # factor for a similar line on the next row
ONLY_NEAREST = 0.92

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the text before: offsets of its content without indentation."""

    start: int
    end: int
    text: str
    row: int


@dataclass(frozen=True, slots=True)
class _SimilarLine:
    """A line to change as another one was. `anchors` is the number of names that are the same in both."""

    start: int
    row: int
    edit: Edit
    anchors: int


def propose_similar_lines(edit: ParsedEdit) -> list[Proposal]:
    """Return up to two proposals: all similar lines around the changed one, and the nearest alone."""
    before, found = edit.before, _changed_line(edit)
    if found is None or _is_other_name(edit):
        return []  # what another line means, a name alone does not say
    line, new = found
    if _declares(before, line) or any(one.is_defined(before) for one in edit.once(renamings)):
        return []  # functions of the same shape are different functions
    similar = _similar_lines(edit, line, new)
    if not similar or len(similar) > MOST_SIMILAR_LINES:
        return []
    starts = (line.start, *(one.start for one in edit.changes))
    if any(_around(before, at, edit.syntax.parameter_lists) is not None for at in starts):
        return []  # of a function
    if all(_in_text(before, change) for change in edit.changes):
        return []  # words of a message, not of the program
    branching = _around(before, line.start, edit.syntax.branchings)
    first, last = (0, 0) if branching is None else before.span_of(branching)
    beside = [one for one in similar if first <= one.start < last]
    moved = MOVED if sorted(_TOKEN.findall(line.text)) == sorted(_TOKEN.findall(new)) else 0.0
    proposals: list[Proposal] = []
    for group, part in ((beside, SAME_BRANCHING), (similar, 1.0), (similar[:1], ONLY_NEAREST)):
        edits = tuple(sorted(one.edit for one in group))
        if group and all(proposal.edits != edits for proposal in proposals):
            certain = BASE + moved + EACH_ANCHOR * min(MOST_ANCHORS, *(one.anchors for one in group))
            certain *= NEXT_TO if abs(group[0].row - line.row) == 1 else 1.0
            label = f"change {counted(len(group), 'line')} of the same shape"
            proposals.append(Proposal(edits, label, certain * part, Kind.SIMILAR_LINE))
    return proposals


def _is_other_name(edit: ParsedEdit) -> bool:
    """Return whether the changes replace one name by another and nothing else."""
    words = list(words_changed(edit.before.text, edit.changes, edit.before.language))
    return len(words) == 1 and words[0][2].isidentifier() and edit.before.text[slice(*words[0][:2])].isidentifier()


def _declares(source: ParsedText, line: _Line) -> bool:
    """Return whether a line begins a function, a class or an import."""
    start = source.to_byte(line.start)
    first = source.node_at(line.start, line.start + 1)
    around = (node for node in (first, *ancestors(first)) if node.start_byte >= start)
    return any(node.type in source.syntax.declarations for top in around for node in (top, *top.named_children))


def _changed_line(edit: ParsedEdit) -> tuple[_Line, str] | None:
    """Return the one line that contains all changes, before and after."""
    text, changes = edit.before.text, edit.changes
    if not changes or any("\n" in change.new for change in changes):
        return None
    start, end = lines.around(text, changes[0].start, changes[0].start)
    growth = sum(change.growth for change in changes)
    old, new = text[start:end], edit.after.text[start : end + growth]  # nothing above the line has changed
    if changes[-1].end > end or max(len(old), len(new)) > LONGEST_LINE or not new.strip():
        return None
    lead = len(old) - len(old.lstrip())
    if old[:lead] != new[: len(new) - len(new.lstrip())]:
        return None  # indented anew
    content = old.strip()
    return _Line(start + lead, start + lead + len(content), content, text.count("\n", 0, start)), new.strip()


def _similar_lines(edit: ParsedEdit, line: _Line, new: str) -> list[_SimilarLine]:
    """Return the other lines around a line that can be changed as it was, the nearest first."""
    made = (_as_similar_line(edit, line, new, other) for other in _with_its_shape(edit.before, line))
    replaced = Replaced(edit.history)
    found = [one for one in made if one is not None and replaced.allows(edit.after, [one.edit])]
    return sorted(found, key=lambda one: abs(one.row - line.row))


def _with_its_shape(source: ParsedText, line: _Line) -> Iterator[_Line]:
    """Yield the other lines around a line that have its shape, and are no comments."""
    text, language = source.text, source.language
    shape = shape_of(line.text, language)
    named = any(is_name(word, language) for word in WORD.findall(line.text))
    if not named or len(_TOKEN.findall(line.text.replace(" ", ""))) < LEAST_TOKENS:
        return
    first = max(0, line.row - REACH_LINES)
    rows = text.split("\n")[: line.row + REACH_LINES + 1]
    start = sum(len(row) + 1 for row in rows[:first])
    for number, row in enumerate(rows[first:], first):
        content, lead = row.strip(), start + len(row) - len(row.lstrip())
        if number != line.row and 0 < len(content) <= LONGEST_LINE and shape_of(content, language) == shape:
            other = _Line(lead, lead + len(content), content, number)
            if not _is_comment(source, other):
                yield other
        start += len(row) + 1


def _as_similar_line(edit: ParsedEdit, line: _Line, new: str, other: _Line) -> _SimilarLine | None:
    """Return another line changed as `line` was; None if that makes no sense, or the user has edited it."""
    language = edit.before.language
    tokens, new_tokens = _TOKEN.findall(line.text), _TOKEN.findall(new)
    found = list(_TOKEN.finditer(other.text))
    theirs = [token.group() for token in found]
    names = _mapping(tokens, theirs, language)
    first, kept = common_ends(tokens, new_tokens)
    last = len(tokens) - kept
    old, fresh = tokens[first:last], new_tokens[first : len(new_tokens) - kept]
    if names is None or not any(map(_says_something, (*old, *fresh))):
        return None
    pairs = list(zip(tokens, theirs, strict=True))
    if any(one != another and not one.isspace() and one not in fresh for one, another in pairs[first:last]):
        return None  # what is taken away from the other line is not kept in the new text
    exchanged = exchanged_names(names)
    text = WORD.sub(lambda word: renamed_word(word.group(), exchanged), "".join(fresh))
    start = found[first].start() if first < len(found) else len(other.text)
    end = found[last - 1].end() if last > first else start
    made = edit.replacing(other.start + start, other.start + end, text)
    same = {one for one, another in pairs if one == another and WORD.match(one) and is_name(one, language)}
    return None if made is None else _SimilarLine(other.start, other.row, made, len(same - set(old)))


def _mapping(old: Sequence[str], other: Sequence[str], language: str) -> dict[str, str] | None:
    """Map the names of the line to those of the other; None if a name would have two, or numbers differ."""
    if len(old) != len(other):
        return None
    names: dict[str, str] = {}
    for one, another in zip(old, other, strict=True):
        if not WORD.match(one):
            if one != another and not (one.isspace() and another.isspace()):
                return None
        elif keywords_of(language) & {one, another}:
            if one != another:
                return None
        elif names.setdefault(one, another) != another:
            return None
    return names if len(set(names.values())) == len(names) else None


def _in_text(source: ParsedText, change: Change) -> bool:
    """Return whether a change is inside a string or a comment."""
    node = source.node_at(change.start, change.end)
    inside = node.type in source.syntax.string_parts and not node.named_child_count
    return inside or node.type in (*source.nodes.strings, *source.nodes.comments, "string_end")


def _around(source: ParsedText, at: int, types: frozenset[str]) -> Node | None:
    return enclosing(source.node_at(at, at + 1), types)


def _says_something(token: str) -> bool:
    """Return whether a token is more than a number or a blank, which often change in one line only."""
    return not token.isspace() and not token[0].isdigit()


def _is_comment(source: ParsedText, line: _Line) -> bool:
    node = source.node_at(line.start, min(line.start + 1, len(source.text)))
    return node.type in source.nodes.comments or (
        node.type in source.syntax.string_parts and "\n" in source.text_of(node)
    )
