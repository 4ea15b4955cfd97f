"""How likely the user wants one place changed as another was: a logistic regression on features of both places.

The weights are fitted to version histories (`python -m bench.edits.histories.fitting`).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from tree_sitter import Node

from infill_engine.context.line_shapes import shape_of
from infill_engine.edits.matching import Match
from infill_engine.edits.source import Source, ancestors, enclosing
from infill_engine.edits.templates import TOKEN, WORD, Template
from infill_engine.text import lines

AROUND_CHARS = 1500

WEIGHTS: Mapping[str, float] = {
    "constant": -2.71,
    "removes a name": 0.47,
    "length of the name": 1.01,
    "words in common": 1.67,
    "parts that differ": -0.64,
    "similar line": 2.29,
    "line of the same shape": -0.23,
    "same line": -0.09,
    "nodes around alike": 0.97,
    "token in another role": 0.37,
    "same parent": -0.61,
    "same function": 0.16,
    "distance": -2.06,
    "below": 1.10,
    "next line": -0.04,
    "nearest": -0.13,
    "only one": -0.31,
    "number of places": -1.89,
    "repeated": 0.71,
    "repeated twice": -0.05,
    "share done": 1.50,
    "inserts nothing": -0.37,
    "in text": 0.23,
    "tokens removed": -0.97,
    "tokens inserted": -1.76,
    "inserted words near": -0.53,
    "one token": -0.33,
    "signs or numbers": -0.53,
    "declaration": -0.21,
    "inserts lines": -1.60,
    "inserts the same lines": 0.32,
    "removes lines": -1.47,
}


def probability(features: Mapping[str, float]) -> float:
    """Return the estimated probability that a place with these features should be changed."""
    return 1 / (1 + math.exp(-sum(WEIGHTS[name] * value for name, value in features.items())))


def features_of(example: Template, found: Match, others: Sequence[Match], repeats: int) -> dict[str, float]:
    """Describe a place by numbers between 0 and 1.

    `others` are all places that the example fits, `found` among them. `repeats` counts earlier edits that made the
    same change.
    """
    source, node, other = example.source, example.node, found.node
    here, row = node.start_point[0], other.start_point[0]
    between = range(min(here, row) + 1, max(here, row))
    line, own = _line(source, other), _line(source, node)
    tokens, own_tokens = Counter(TOKEN.findall(line)), Counter(TOKEN.findall(own))
    removed, inserted = example.removed, example.inserted
    words = [word for word in removed if WORD.match(word) and not word.isdigit()]
    fresh = {word for one in found.changes for word in WORD.findall(one.new)}
    at = source.to_char(other.start_byte)
    around = source.text[max(0, at - AROUND_CHARS) : at + AROUND_CHARS]
    functions = [enclosing(one, source.syntax.functions) for one in (node, other)]
    whole_lines = example.row is not None
    return {
        "constant": 1.0,
        "removes a name": float(bool(words)),
        "length of the name": min(1.0, max(map(len, words), default=0) / 16),
        "words in common": min(found.same, 6) / 6,
        "parts that differ": min(found.different, 4) / 4,
        "similar line": 2 * (tokens & own_tokens).total() / max(1, tokens.total() + own_tokens.total()),
        "line of the same shape": float(shape_of(line) == shape_of(own)),
        "same line": float(line == own),
        "nodes around alike": _alike(node, other) / 4,
        "token in another role": float(not node.child_count and _role(node) != _role(other)),
        "same parent": float(_same(node.parent, other.parent)),
        "same function": float(_same(*functions)),
        "distance": math.log2(1 + abs(row - here)) / 10,
        "below": float(row > here),
        "next line": float(abs(row - here) == 1),
        "nearest": float(not any(one.node.start_point[0] in between for one in others)),
        "only one": float(len(others) == 1),
        "number of places": math.log2(len(others)) / 6,
        "repeated": float(repeats > 0),
        "repeated twice": float(repeats > 1),
        "share done": (repeats + 1) / (repeats + 1 + len(others)),
        "inserts nothing": float(not inserted),
        "in text": float(other.type in (*source.syntax.string_parts, *source.nodes.strings, *source.nodes.comments)),
        "tokens removed": min(len(removed), 10) / 10,
        "tokens inserted": min(len(inserted), 10) / 10,
        "inserted words near": sum(word in around for word in fresh) / len(fresh) if fresh else 0.5,
        "one token": float(not node.child_count),
        "signs or numbers": float(not any(WORD.match(token) and not token.isdigit() for token in removed + inserted)),
        "declaration": float(_declares(source, node)),
        "inserts lines": float(whole_lines and bool(inserted)),
        "inserts the same lines": float(whole_lines and bool(inserted) and line == own),
        "removes lines": float(whole_lines and not inserted),
    }


def _line(source: Source, node: Node) -> str:
    at = source.to_char(node.start_byte)
    start, end = lines.around(source.text, at, at)
    return source.text[start:end].strip()


def _alike(node: Node, other: Node) -> int:
    """Return how many of the four nodes around two nodes have the same types, from the inside out."""
    pairs = list(zip(ancestors(node), ancestors(other), strict=False))[:4]
    return next((at for at, (one, another) in enumerate(pairs) if one.type != another.type), len(pairs))


def _role(node: Node) -> str | None:
    """Return the field of its parent that a node is in."""
    above = node.parent
    if above is None:
        return None
    return next(
        (above.field_name_for_child(at) for at, child in enumerate(above.children) if child.id == node.id), None
    )


def _same(one: Node | None, other: Node | None) -> bool:
    return one is not None and other is not None and one.id == other.id


def _declares(source: Source, node: Node) -> bool:
    """Return whether a function, a class or an import begins at the node."""
    types = source.syntax.declarations
    return any(one.type in types and one.start_point[0] == node.start_point[0] for one in (node, *ancestors(node)))
