"""The last edit is an example: other places of its shape are changed alike, with their own names.

The place where it is most likely wanted is one proposal, all places together are another.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tree_sitter import Node

from infill_engine.context.line_shapes import shape_of
from infill_engine.edits.parsed import ParsedEdit
from infill_engine.edits.source import Source, ancestors
from infill_engine.edits.templates import TOKEN, WORD, Match, Template, match, templates, token_changes
from infill_engine.edits.types import Edit, Kind, Proposal, Span
from infill_engine.edits.weights import probability

MOST_PLACES = 60  # with one word in common; more of them is a word of the language
MOST_SIBLINGS = 20
MOST_WORDS = 6  # whose other places are looked at, those nearest to the change first
MOST_TEMPLATES = 12


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere that can be changed as the user's edit was, and how sure it is that it should be."""

    edits: tuple[Edit, ...]
    features: tuple[float, ...]
    distance: int  # lines below the user's edit; negative above it

    @property
    def confidence(self) -> float:
        """The estimated probability that the user wants it."""
        return probability(self.features)


def propose_alike(edit: ParsedEdit) -> list[Proposal]:
    """Return two proposals at most: the best place, and all that are as good as shown alone."""
    found = sorted(places(edit), key=lambda place: (-place.confidence, abs(place.distance)))
    if not found:
        return []
    best = found[0]
    proposals = [Proposal(best.edits, "change 1 place alike", best.confidence, Kind.ALIKE)]
    together = _apart([place for place in found if place.confidence >= best.confidence / 2])
    if len(together) > 1:
        edits = tuple(sorted(edit for place in together for edit in place.edits))
        certain = sum(place.confidence for place in together) / len(together)
        proposals.append(Proposal(edits, f"change {len(together)} places alike", certain, Kind.ALIKE))
    return proposals


def places(edit: ParsedEdit) -> list[Place]:
    """Return the places that each edited line is an example for."""
    found: dict[tuple[Edit, ...], Place] = {}
    examples = list(templates(edit.before, edit.after.text, edit.changes))
    if len(examples) > MOST_TEMPLATES:
        return []
    rules = Counter(_rule(example) for example in examples)
    rules.update(rule for old, new in edit.history if (rule := rule_of(old, new)))
    for example in examples:
        matches = [(one, edits) for one in _matches(example) if (edits := _placed(edit, one))]
        for one, edits in matches:
            place = _place(edit, example, one, edits, [other for other, _ in matches], rules[_rule(example)] - 1)
            known = found.get(edits)
            if known is None or known.confidence < place.confidence:
                found[edits] = place
    return list(found.values())


def rule_of(old: str, new: str) -> tuple[tuple[str, ...], ...]:
    """Return what is replaced by what between two texts, by tokens."""
    return tuple(
        tokens
        for change in token_changes(old, new)
        for tokens in (tuple(TOKEN.findall(old, change.start, change.end)), tuple(TOKEN.findall(change.new)))
    )


def _rule(example: Template) -> tuple[tuple[str, ...], ...]:
    text = example.source.text
    return tuple(
        tokens
        for change in example.changes
        for tokens in (tuple(TOKEN.findall(text, change.start, change.end)), tuple(TOKEN.findall(change.new)))
    )


def _matches(example: Template) -> list[Match]:
    source, seen, found = example.source, {example.node.id}, []
    for node in _candidates(example):
        if node.id in seen or node.type != example.node.type:
            continue
        seen.add(node.id)
        one = match(example, source, node)
        if one is not None:
            found.append(one)
    return found


def _candidates(example: Template) -> Iterator[Node]:
    """Yield nodes that have a word in common with the template's node in the same depth, and its siblings."""
    source, node = example.source, example.node
    gone = [
        (found.start(), found.group())
        for one in example.changes
        for found in WORD.finditer(source.text, one.start, one.end)
        if len(found.group()) > 1
    ]
    words = [max(gone, key=lambda word: len(word[1]))] if gone else _nearest(example)
    for at, word in words:
        leaf = source.node_at(at, at + len(word))
        depth = next((up for up, above in enumerate((leaf, *ancestors(leaf))) if above.id == node.id), None)
        if depth is None:
            continue
        starts = list(source.words(word))
        if len(starts) > MOST_PLACES:
            continue
        for start in starts:
            other: Node | None = source.node_at(start, start + len(word))
            if other is None or other.type != leaf.type:
                continue
            for _ in range(depth):
                other = None if other is None else other.parent
            if other is not None:
                yield other
    parent = node.parent
    if parent is not None and not gone:
        siblings = [other for other in parent.named_children if other.type == node.type]
        yield from sorted(siblings, key=lambda other: abs(other.start_byte - node.start_byte))[: MOST_SIBLINGS + 1]


def _nearest(example: Template) -> list[tuple[int, str]]:
    starts = [change.start for change in example.changes]
    words = [(at, word) for at, word in example.kept if len(word) > 1 and not word.isdigit()]
    return sorted(words, key=lambda word: min(abs(word[0] - start) for start in starts))[:MOST_WORDS]


def _placed(edit: ParsedEdit, found: Match) -> tuple[Edit, ...]:
    """Return the changes in the text after the user's edit; none where they are made or the user is already there."""
    text, edits = edit.before.text, []
    start, end = edit.before.span_of(found.node)
    there = text[start:end]
    for change in found.changes:
        place = edit.shift.span(change.start, change.end)
        if place is None:
            return ()
        old = text[change.start : change.end]
        if not old and change.new.strip() and change.new.strip() in there:
            return ()
        if old != change.new:
            edits.append(Edit(Span(*place, old), change.new))
    return tuple(sorted(edits))


def _apart(found: Sequence[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in found:
        edits = sorted(edit for one in (*kept, place) for edit in one.edits)
        if all(one.span.end < other.span.start for one, other in pairwise(edits)):
            kept.append(place)
    return kept


def _place(
    edit: ParsedEdit, example: Template, found: Match, edits: tuple[Edit, ...], others: Sequence[Match], support: int
) -> Place:
    source = example.source
    row, here = found.node.start_point[0], example.node.start_point[0]
    line, own = _line(source, found.node), _line(source, example.node)
    tokens, own_tokens = Counter(TOKEN.findall(line)), Counter(TOKEN.findall(own))
    removed, inserted = example.removed, example.inserted
    words = [word for word in removed if WORD.match(word) and not word.isdigit()]
    fresh = {word for one in found.changes for word in WORD.findall(one.new)}
    above = sum(one.node.start_point[0] < here for one in others)
    levels = zip(ancestors(example.node), ancestors(found.node), strict=False)
    alike = 0
    for ours, theirs in levels:
        if ours.type != theirs.type or alike == 4:
            break
        alike += 1
    parent, other_parent = example.node.parent, found.node.parent
    in_text = found.node.type in (*source.syntax.string_parts, *source.nodes.strings, *source.nodes.comments)
    features = (
        1.0,
        float(bool(words)),
        min(1.0, max(map(len, words), default=0) / 16),
        min(found.same, 6) / 6,
        min(found.different, 4) / 4,
        2 * (tokens & own_tokens).total() / max(1, tokens.total() + own_tokens.total()),
        float(shape_of(line) == shape_of(own)),
        alike / 4,
        float(parent is not None and other_parent is not None and parent.id == other_parent.id),
        math.log2(1 + abs(row - here)) / 10,
        float(row > here),
        float(abs(row - here) == 1),
        math.log2(len(others)) / 6,
        above / len(others),
        float(support > 0),
        float(support > 1),
        float(not inserted),
        float(in_text),
        min(len(removed) + len(inserted), 20) / 20,
        sum(next(source.words(word), None) is not None for word in fresh) / len(fresh) if fresh else 0.5,
        float(not example.node.child_count),
        float(not any(WORD.search(token) and not token.isdigit() for token in (*removed, *inserted))),
    )
    return Place(edits, features, row - here)


def _line(source: Source, node: Node) -> str:
    start = source.to_char(node.start_byte)
    end = source.text.find("\n", start)
    return source.text[source.text.rfind("\n", 0, start) + 1 : end if end >= 0 else len(source.text)].strip()
