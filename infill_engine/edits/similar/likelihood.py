"""How likely the user wants one place changed as another was: a logistic regression on features of both places.

The weights are fitted to version histories (`python -m bench.edits.histories.fitting`).
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ancestors
from infill_engine.edits.similar.node_matching import Match
from infill_engine.edits.similar.repeats import Repeat
from infill_engine.edits.similar.templates import Template
from infill_engine.edits.similar.token_rules import Rule
from infill_engine.edits.tokens import TOKEN, is_name
from infill_engine.edits.types import Edit
from infill_engine.text.sequences import dice

# Where the user is in a text that they have not edited says nothing.
NOT_EDITED = {"not edited": 1.0, "distance": 0.0, "below": 0.0}

WEIGHTS: Mapping[str, float] = {
    "constant": -4.28,
    "length of the name": 1.60,
    "similar line": 1.73,
    "distance": -2.17,
    "below": 1.53,
    "only one": -0.51,
    "number of places": -3.15,
    "repeated": 1.13,
    "share done": 1.54,
    "signs or numbers": 0.97,
    "not edited": 0.34,
    # of places that are similar by nodes
    "words in common": 1.09,
    "parts that differ": -0.79,
    "nodes around": 0.71,
    "token in another role": 0.32,
    "inserts lines": -0.90,
    # of places that are similar by tokens
    "context": 0.66,
    "share of the changes": 0.99,
    "written": -2.28,
}


@dataclass(frozen=True, slots=True)
class SimilarPlace:
    """A place that can be changed as the user has changed another, with features that say how likely that is wanted."""

    edits: tuple[Edit, ...]
    features: dict[str, float]
    distance: int  # lines below the user's edit; negative above it
    by_shape: float = 0.0  # the confidence that its line's shape gives; 0 if the edited line has another shape

    @property
    def confidence(self) -> float:
        """The estimated probability that the user wants it."""
        return probability(self.features)


def probability(features: Mapping[str, float]) -> float:
    """Return the estimated probability that a place with these features should be changed."""
    return 1 / (1 + math.exp(-sum(WEIGHTS[name] * value for name, value in features.items())))


def features_of(example: Template, found: Match, others: Sequence[Match], repeats: int) -> dict[str, float]:
    """Describe a place that is similar by nodes by numbers between 0 and 1.

    `others` are all places that the example fits, `found` among them. `repeats` counts earlier edits that made the
    same change.
    """
    node, other = example.node, found.node
    texts = (example.source.line_at(example.source.start_of(one)) for one in (other, node))
    line, own = (Counter(TOKEN.findall(text)) for text in texts)
    below = other.start_point[0] - node.start_point[0]
    return _common(example.removed, example.inserted, below, len(others), repeats + 1) | {
        "similar line": dice(line, own),
        "words in common": min(found.same, 6) / 6,
        "parts that differ": min(found.different, 4) / 4,
        "nodes around": _shared(node, other) / 4,
        "token in another role": float(not node.child_count and _role(node) != _role(other)),
        "inserts lines": float(example.row is not None and bool(example.inserted)),
    }


def features_of_repeat(
    rule: Rule, found: Repeat, places: int, times: int, row: int, edit: ParsedEdit, written: Sequence[Collection[str]]
) -> dict[str, float]:
    """Describe a place where a rule of tokens applies by numbers between 0 and 1.

    `places` is the number of such places, `times` how often the user has made the change, and `row` where they are.
    `written` has the lines that each edit has written, without blanks at their ends.
    """
    line = edit.after.line_at(found.edits[0].span.start)
    features = _common(rule.removed, rule.inserted, found.rows[0] - row, places, times) | {
        "similar line": found.similar,
        "context": found.context,
        "share of the changes": found.share,
        "written": float(any(line in lines for lines in written)),
    }
    return features if edit.changes else features | NOT_EDITED


def _common(removed: Sequence[str], inserted: Sequence[str], below: int, places: int, times: int) -> dict[str, float]:
    """Return the features that all places have, `below` lines below the edit and `places` in number."""
    names = [token for token in removed if is_name(token)]
    return {
        "constant": 1.0,
        "length of the name": min(1.0, max(map(len, names), default=0) / 16),
        "distance": math.log2(1 + abs(below)) / 10,
        "below": float(below > 0),
        "only one": float(places == 1),
        "number of places": math.log2(places) / 6,
        "repeated": float(times > 1),
        "share done": times / (times + places),
        "signs or numbers": float(not names and not any(map(is_name, inserted))),
    }


def _shared(node: Node, other: Node) -> int:
    """Return how many of the four nodes around two nodes have the same types, from the inside out."""
    pairs = list(zip(ancestors(node), ancestors(other), strict=False))[:4]
    return next((at for at, (one, another) in enumerate(pairs) if one.type != another.type), len(pairs))


def _role(node: Node) -> str | None:
    """Return the field of its parent that a node is in."""
    above = node.parent
    siblings = [] if above is None else above.children
    at = next((at for at, child in enumerate(siblings) if child.id == node.id), None)
    return None if above is None or at is None else above.field_name_for_child(at)
