"""The last edit is an example: the same change, with other names, fits places of the same shape."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from tree_sitter import Node

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ancestors, enclosing
from infill_engine.edits.resolution.renamings import renamings
from infill_engine.edits.similar.likelihood import SimilarPlace, features_of
from infill_engine.edits.similar.node_matching import Match, match
from infill_engine.edits.similar.same_shape import Shape
from infill_engine.edits.similar.templates import Template, templates
from infill_engine.edits.tokens import WORD, Replacements, line_pairs, replacements, replacements_of
from infill_engine.edits.types import Change, Edit

MOST_PLACES = 60  # places with a word in common; with more, it is a word of the language
MOST_SIBLINGS = 20
MOST_WORDS = 6  # words whose other places are examined, nearest to the change first
MOST_TEMPLATES = 12
REACH_CHARS = 1000


def places(edit: ParsedEdit) -> list[SimilarPlace]:
    """Return the places that each edited line is an example for."""
    found: dict[tuple[Edit, ...], SimilarPlace] = {}
    examples = list(templates(edit.before, edit.after.text, edit.changes))
    if len(examples) > MOST_TEMPLATES:
        return []
    made = [replacements_of(*pair) for edited in edit.history for pair in line_pairs(*edited)]
    defined = [start for one in edit.once(renamings) if one.is_defined(edit.before) for start in one.starts]
    for example in examples:
        rule = replacements(example.source.text, example.changes)
        if _is_taken_back(rule, made) or any(one.start <= at < one.end for one in example.changes for at in defined):
            continue
        if made.count(rule) < 2 and _says_little(example):
            continue
        shape = Shape.of(edit, example) if len(examples) == 1 else None
        matches = [(one, edits) for one in _matches(example, shape) if (edits := _placed(edit, example, one))]
        for one, edits in matches:
            features = features_of(example, one, [other for other, _ in matches], made.count(rule) - 1)
            by_shape = 0.0 if shape is None else shape.confidence(one.node)
            distance = one.node.start_point[0] - example.node.start_point[0]
            place = SimilarPlace(edits, features, distance, by_shape)
            known = found.get(edits)
            if known is None or known.confidence < place.confidence:
                found[edits] = place
    return list(found.values())


def _says_little(example: Template) -> bool:
    """Return whether a place may be similar by chance: the change is of a literal, a comment or parameters, or it
    removes whole lines."""
    source, syntax, nodes = example.source, example.source.syntax, example.source.nodes
    values = (*syntax.numbers, *syntax.string_parts, *nodes.strings, *nodes.comments)
    changed = [source.node_at(one.start, max(one.end, one.start + 1)) for one in example.changes]
    if all(node.type in values for node in (example.node, *changed)):
        return True
    listed = any(enclosing(node, syntax.parameter_lists) is not None for node in changed)
    return listed or (example.row is not None and not example.inserted)


def _is_taken_back(rule: Replacements, made: Sequence[Replacements]) -> bool:
    """Return whether the user also made the opposite change, so that it is unclear which one they want."""
    back = tuple(tokens for at in range(0, len(rule), 2) for tokens in (rule[at + 1], rule[at]))
    return back in made


def _matches(example: Template, shape: Shape | None) -> Iterator[Match]:
    lines = {} if shape is None else {node.id: node for node in shape.nodes()}
    nodes = {node.id: node for node in chain(_candidates(example), lines.values()) if node.type == example.node.type}
    for node in nodes.values():
        found = None if node.id == example.node.id else match(example, node)
        if found is None and node.id in lines:
            found = match(example, node, same_shape=True)
        if found is not None:
            yield found


def _candidates(example: Template) -> Iterator[Node]:
    """Yield the template's siblings, and nodes that share a word with it at the same depth."""
    source, node = example.source, example.node
    changes = () if example.row is not None and example.changes[0].new else example.changes
    found = (word for one in changes for word in WORD.finditer(source.text, one.start, one.end))
    gone = [(word.start(), word.group()) for word in found if len(word.group()) > 1]
    for at, word in [max(gone, key=lambda word: len(word[1]))] if gone else _nearest(example):
        leaf = source.node_at(at, at + len(word))
        depth = next((up for up, above in enumerate((leaf, *ancestors(leaf))) if above.id == node.id), None)
        starts = list(source.words(word))
        if depth is None or len(starts) > MOST_PLACES:
            continue
        for start in starts:
            other = source.node_at(start, start + len(word))
            if other.type == leaf.type:
                yield from islice((other, *ancestors(other)), depth, depth + 1)
    parent = node.parent
    if parent is not None and not gone:
        siblings = [other for other in parent.named_children if other.type == node.type]
        yield from sorted(siblings, key=lambda other: abs(other.start_byte - node.start_byte))[: MOST_SIBLINGS + 1]


def _nearest(example: Template) -> list[tuple[int, str]]:
    starts = [change.start for change in example.changes]
    words = [(at, word) for at, word in example.kept if len(word) > 1 and not word.isdigit()]
    return sorted(words, key=lambda word: min(abs(word[0] - start) for start in starts))[:MOST_WORDS]


def _placed(edit: ParsedEdit, example: Template, found: Match) -> tuple[Edit, ...]:
    """Map the changes to the text after the user's edit; none if they are made already or the user has edited there."""
    edits, moves = [], set(example.inserted) <= set(example.removed)
    for change in found.changes:
        made = edit.replacing(change.start, change.end, change.new)
        inserts = made is not None and not made.span.text and not moves and WORD.search(made.new)
        if made is None or (inserts and _is_there(edit, found.node, change)):
            return ()
        if made.span.text != made.new:
            edits.append(made)
    return tuple(sorted(edits))


def _is_there(edit: ParsedEdit, node: Node, change: Change) -> bool:
    """Return whether the text after the user's edit already has the insertion."""
    new, text = change.new.strip(), edit.after.text
    at = edit.shift.offset(change.start)
    holder = node.parent if "\n" in change.new and node.parent is not None else node
    start, end = map(edit.shift.offset, edit.before.span_of(holder))
    start, end = max(start, at - REACH_CHARS), min(end, at + REACH_CHARS)
    return new in text[start:end] or text[max(0, at - len(change.new)) : at].strip() == new
