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
from infill_engine.edits.changes import Shift, words_changed
from infill_engine.edits.checks.replaced import Replaced
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.renamings import renamings
from infill_engine.edits.types import Change, Edit, Kind, Proposal, Span
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
    line: _Line
    edit: tuple[int, int, str]  # of the text before
    anchors: int  # names that are the same in both lines


def propose_similar_lines(edit: ParsedEdit) -> list[Proposal]:
    """Return up to two proposals: all similar lines around the changed one, and the nearest alone."""
    before, syntax = edit.before, edit.syntax
    found = _changed_line(before, edit.after, edit.changes)
    if found is None:
        return []
    line, new = found
    if _is_other_name(edit):
        return []  # what another line means, this one does not say
    if _declares(before, line) or any(one.is_defined(before) for one in edit.once(renamings)):
        return []  # functions of the same shape are different functions
    similar_lines = []
    for other in _around(before, line):
        similar = _as_similar_line(line, new, other, before.language)
        if similar is not None and not _is_comment(before, other):
            similar_lines.append(similar)
    replaced = Replaced(edit.history)
    similar_lines = [
        one for one in similar_lines if replaced.allows(edit.after, _placed(before.text, [one], edit.shift))
    ]
    similar_lines.sort(key=lambda similar: abs(similar.line.row - line.row))
    if not similar_lines or len(similar_lines) > MOST_SIMILAR_LINES:
        return []
    if any(_holder(before, at, syntax.parameter_lists) for at in (line.start, *(one.start for one in edit.changes))):
        return []  # of a function
    if all(_in_text(before, change) for change in edit.changes):
        return []  # words of a message, not of the program
    branching = _holder(before, line.start, syntax.branchings)
    beside = [
        similar for similar in similar_lines if branching is not None and _within(before, branching, similar.line.start)
    ]
    moved = MOVED if sorted(_TOKEN.findall(line.text)) == sorted(_TOKEN.findall(new)) else 0.0
    proposals: list[Proposal] = []
    for group, part in ((beside, SAME_BRANCHING), (similar_lines, 1.0), (similar_lines[:1], ONLY_NEAREST)):
        if not group:
            continue
        edits = _placed(before.text, group, edit.shift)
        if edits and all(proposal.edits != edits for proposal in proposals):
            certain = BASE + moved + EACH_ANCHOR * min(min(similar.anchors for similar in group), MOST_ANCHORS)
            certain *= NEXT_TO if abs(group[0].line.row - line.row) == 1 else 1.0
            count = len(group)
            label = f"change {count} line{'s' if count > 1 else ''} of the same shape"
            proposals.append(Proposal(edits, label, certain * part, Kind.SIMILAR_LINE))
    return proposals


def _is_other_name(edit: ParsedEdit) -> bool:
    """Return whether the changes replace one name by another and nothing else."""
    words = list(words_changed(edit.before.text, edit.changes, edit.before.language))
    return len(words) == 1 and all(
        text.isidentifier() for text in (edit.before.text[words[0][0] : words[0][1]], words[0][2])
    )


def _declares(source: ParsedText, line: _Line) -> bool:
    """Return whether a line begins a function, a class or an import."""
    start = source.to_byte(line.start)
    first = source.node_at(line.start, line.start + 1)
    around = (node for node in (first, *ancestors(first)) if node.start_byte >= start)
    return any(node.type in source.syntax.declarations for top in around for node in (top, *top.named_children))


def _changed_line(before: ParsedText, after: ParsedText, changes: Sequence[Change]) -> tuple[_Line, str] | None:
    """Return the one line that contains all changes, before and after."""
    if not changes:
        return None
    text = before.text
    start, end = lines.around(text, changes[0].start, changes[0].start)
    if changes[-1].end > end or end - start > LONGEST_LINE or any("\n" in change.new for change in changes):
        return None
    growth = sum(change.growth for change in changes)
    new = after.text[start : end + growth]  # nothing above the line has changed
    old = text[start:end]
    if not new.strip() or len(new) > LONGEST_LINE:
        return None
    lead = len(old) - len(old.lstrip())
    if old[:lead] != new[: len(new) - len(new.lstrip())]:
        return None  # indented anew
    content = old.strip()
    return _Line(start + lead, start + lead + len(content), content, text.count("\n", 0, start)), new.strip()


def _around(source: ParsedText, line: _Line) -> Iterator[_Line]:
    """Yield the other lines around a line that have its shape."""
    text, language = source.text, source.language
    shape = shape_of(line.text, language)
    enough = len(_TOKEN.findall(line.text.replace(" ", ""))) >= LEAST_TOKENS
    if not enough or not any(is_name(word, language) for word in WORD.findall(line.text)):
        return
    first = text.rfind("\n", 0, line.start) + 1
    for _ in range(REACH_LINES):
        if first == 0:
            break
        first = text.rfind("\n", 0, first - 1) + 1
    row = line.row - text.count("\n", first, line.start)
    last = line.row + REACH_LINES
    start = first
    while row <= last and start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        content = text[start:end].strip()
        if row != line.row and 0 < len(content) <= LONGEST_LINE and shape_of(content, language) == shape:
            lead = start + len(text[start:end]) - len(text[start:end].lstrip())
            yield _Line(lead, lead + len(content), content, row)
        start, row = end + 1, row + 1


def _as_similar_line(line: _Line, new: str, other: _Line, language: str) -> _SimilarLine | None:
    """Return another line changed as `line` was; None if that makes no sense."""
    tokens, new_tokens = _TOKEN.findall(line.text), _TOKEN.findall(new)
    found = list(_TOKEN.finditer(other.text))
    theirs = [token.group() for token in found]
    names = _mapping(tokens, theirs, language)
    if names is None:
        return None
    first, kept = common_ends(tokens, new_tokens)
    last = len(tokens) - kept
    fresh = new_tokens[first : len(new_tokens) - kept]
    if not any(map(_says_something, (*tokens[first:last], *fresh))):
        return None
    if not _carries_over(tokens[first:last], theirs[first:last], fresh):
        return None
    exchanged = exchanged_names(names)
    text = WORD.sub(lambda word: renamed_word(word.group(), exchanged), "".join(fresh))
    start = found[first].start() if first < len(found) else len(other.text)
    end = found[last - 1].end() if last > first else start
    pairs = enumerate(zip(tokens, theirs, strict=True))
    same = {one for at, (one, another) in pairs if one == another and WORD.match(one) and is_name(one, language)}
    edit = (other.start + start, other.start + end, text)
    return _SimilarLine(other, edit, len(same - set(tokens[first:last])))


def _mapping(old: Sequence[str], other: Sequence[str], language: str) -> dict[str, str] | None:
    """Map the names of the line to those of the other; None if a name would have two, or numbers differ."""
    if len(old) != len(other):
        return None
    names: dict[str, str] = {}
    for one, another in zip(old, other, strict=True):
        if not WORD.match(one):
            if one != another and not (one.isspace() and another.isspace()):
                return None
            continue
        if keywords_of(language) & {one, another}:
            if one != another:
                return None
            continue
        if names.setdefault(one, another) != another:
            return None
    if len(set(names.values())) != len(names):
        return None
    return names


def _carries_over(old: Sequence[str], other: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether `new` makes sense for `other`: it keeps the tokens of `old` in which the two differ."""
    return all(one in new for one, another in zip(old, other, strict=True) if one != another and not one.isspace())


def _in_text(source: ParsedText, change: Change) -> bool:
    """Return whether a change is inside a string or a comment."""
    node = source.node_at(change.start, change.end)
    inside = node.type in source.syntax.string_parts and not node.named_child_count
    return inside or node.type in (*source.nodes.strings, *source.nodes.comments, "string_end")


def _holder(source: ParsedText, at: int, types: frozenset[str]) -> Node | None:
    return enclosing(source.node_at(at, at + 1), types)


def _within(source: ParsedText, node: Node, at: int) -> bool:
    start, end = source.span_of(node)
    return start <= at < end


def _says_something(token: str) -> bool:
    """Return whether a token is more than a number or a blank, which often change in one line only."""
    return not token.isspace() and not token[0].isdigit()


def _is_comment(source: ParsedText, line: _Line) -> bool:
    node = source.node_at(line.start, min(line.start + 1, len(source.text)))
    return node.type in source.nodes.comments or (
        node.type in source.syntax.string_parts and "\n" in source.text_of(node)
    )


def _placed(text: str, similar_lines: Sequence[_SimilarLine], shift: Shift) -> tuple[Edit, ...]:
    edits = []
    for similar in similar_lines:
        start, end, new = similar.edit
        place = shift.span(start, end)
        if place is None:
            return ()
        edits.append(Edit(Span(*place, text[start:end]), new))
    return tuple(sorted(edits))
