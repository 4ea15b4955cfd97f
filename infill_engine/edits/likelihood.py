"""How likely the user wants one place changed as another was: a logistic regression on features of both places.

The weights are fitted to version histories (`python -m bench.edits.histories.fitting`).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.matching import Match
from infill_engine.edits.parsed import ParsedEdit
from infill_engine.edits.source import Source, ancestors, enclosing
from infill_engine.edits.templates import TOKEN, Template
from infill_engine.edits.token_rules import Repeat, Rule, is_name
from infill_engine.edits.types import Edit
from infill_engine.text import lines

# Where the user is in a text that they have not edited says nothing.
NOT_EDITED = {"not edited": 1.0, "distance": 0.0, "below": 0.0, "places above": 0.0, "same function": 0.0}

WEIGHTS: Mapping[str, float] = {
    "constant": -4.27,
    "removes a name": 0.37,
    "length of the name": 1.31,
    "similar line": 1.51,
    "same function": 0.45,
    "distance": -1.92,
    "below": 1.44,
    "only one": -0.58,
    "number of places": -2.83,
    "repeated": 0.86,
    "share done": 2.18,
    "inserts nothing": -0.64,
    "tokens inserted": -0.76,
    "signs or numbers": 0.52,
    "not edited": 0.32,
    # of places with nodes alike
    "words in common": 1.36,
    "parts that differ": -0.41,
    "nodes around alike": 0.63,
    "token in another role": 0.54,
    "same parent": -0.52,
    "inserts lines": -0.55,
    "removes lines": -0.19,
    # of places where a rule of tokens applies
    "context": 1.43,
    "same owner": 0.00,
    "share of the changes": 0.94,
    "block": -0.92,
    "age": -0.46,
    "in a comment": -0.32,
    "places above": -1.18,
    "written": -2.10,
}


@dataclass(frozen=True, slots=True)
class Place:
    """A place that can be changed as the user has changed another, with features that say how likely that is wanted."""

    edits: tuple[Edit, ...]
    features: dict[str, float]
    distance: int  # lines below the user's edit; negative above it

    @property
    def confidence(self) -> float:
        """The estimated probability that the user wants it."""
        return probability(self.features)


def probability(features: Mapping[str, float]) -> float:
    """Return the estimated probability that a place with these features should be changed."""
    return 1 / (1 + math.exp(-sum(WEIGHTS[name] * value for name, value in features.items())))


def features_of(example: Template, found: Match, others: Sequence[Match], repeats: int) -> dict[str, float]:
    """Describe a place with nodes alike by numbers between 0 and 1.

    `others` are all places that the example fits, `found` among them. `repeats` counts earlier edits that made the
    same change.
    """
    node, other, whole_lines = example.node, found.node, example.row is not None
    starts = (example.source.to_char(one.start_byte) for one in (other, node))
    line, own = (Counter(TOKEN.findall(_line(example.source, at))) for at in starts)
    below = other.start_point[0] - node.start_point[0]
    return _common(example.removed, example.inserted, below, len(others), repeats + 1) | {
        "similar line": 2 * (line & own).total() / max(1, line.total() + own.total()),
        "same function": _in_one_function(example.source, node, other),
        "words in common": min(found.same, 6) / 6,
        "parts that differ": min(found.different, 4) / 4,
        "nodes around alike": _alike(node, other) / 4,
        "token in another role": float(not node.child_count and _role(node) != _role(other)),
        "same parent": float(_same(node.parent, other.parent)),
        "inserts lines": float(whole_lines and bool(example.inserted)),
        "removes lines": float(whole_lines and not example.inserted),
    }


def features_of_repeat(
    rule: Rule, found: Repeat, others: Sequence[Repeat], times: int, edit: ParsedEdit, row: int
) -> dict[str, float]:
    """Describe a place where a rule of tokens applies by numbers between 0 and 1.

    `others` are all its places, `found` among them. `times` is how often the user has made the change, and `row` is
    where they are.
    """
    source = edit.after
    here, place = (source.node_at(at, at + 1) for at in (edit.place, found.edits[0].span.start))
    line = _line(source, found.edits[0].span.start)
    above = sum(other.row < row for other in others)
    features = _common(rule.removed, rule.inserted, found.row - row, len(others), times) | {
        "similar line": found.similar,
        "same function": _in_one_function(source, here, place),
        "context": found.context,
        "same owner": found.owner,
        "share of the changes": found.share,
        "block": float(not rule.swaps),
        "age": min(rule.age, 6) / 6,
        "in a comment": float(place.type in source.nodes.comments),
        "places above": math.log2(1 + above) / 6 if found.row > row else 0.0,
        "written": float(any(line == one.strip() for _, new in edit.history for one in new.splitlines())),
    }
    return features if edit.changes else features | NOT_EDITED


def _common(removed: Sequence[str], inserted: Sequence[str], below: int, places: int, times: int) -> dict[str, float]:
    """Return the features that all places have, `below` lines below the edit and `places` in number."""
    names = [token for token in removed if is_name(token)]
    return {
        "constant": 1.0,
        "removes a name": float(bool(names)),
        "length of the name": min(1.0, max(map(len, names), default=0) / 16),
        "distance": math.log2(1 + abs(below)) / 10,
        "below": float(below > 0),
        "only one": float(places == 1),
        "number of places": math.log2(places) / 6,
        "repeated": float(times > 1),
        "share done": times / (times + places),
        "inserts nothing": float(not inserted),
        "tokens inserted": min(len(inserted), 10) / 10,
        "signs or numbers": float(not names and not any(map(is_name, inserted))),
    }


def _line(source: Source, at: int) -> str:
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


def _in_one_function(source: Source, one: Node, other: Node) -> float:
    return float(_same(*(enclosing(node, source.syntax.functions) for node in (one, other))))


def _same(one: Node | None, other: Node | None) -> bool:
    return one is not None and other is not None and one.id == other.id
