"""Chains of branches that compare one subject with names: `if c == Red: … elif c == Green: …`."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tree_sitter import Node

from infill_engine.edits.parsed_text import ParsedText, ancestors, first_child, holds
from infill_engine.edits.tokens import whole

BODIES = ("consequence", "body")  # fields
LONGEST = 200  # characters of a condition
_EQUAL = re.compile(r"(?<![=!<>])===?(?!=)|\bis\b(?!\s+not)")
_SEVERAL = re.compile(r"&&|\|\||\b(?:and|or|not)\b|!")
_JOINED = re.compile(r"[}\s]*(?:else\s*if|elif|elsif|elseif)[\s(]*\Z")


@dataclass(frozen=True, slots=True)
class ConditionalBranch:
    """A condition and what runs if it holds: offsets of both in characters."""

    condition: tuple[int, int]
    body: tuple[int, int]


def chains_with(source: ParsedText, word: str) -> Iterator[list[ConditionalBranch]]:
    """Yield each chain with a condition in which a word or a literal occurs, from its first branch on."""
    seen = set()
    for found in whole(word).finditer(source.text):
        node = source.node_at(*found.span())
        around = [one for one in ancestors(node) if one.type in source.syntax.chained]
        condition = around[0].child_by_field_name("condition") if around else None
        if condition is None or not holds(condition, node):
            continue
        top = around[0]
        for above in around[1:]:
            if top.id in {one.id for one in _others(source, above)}:
                top = above
        if top.id not in seen:
            seen.add(top.id)
            yield [branch for node in _nodes(source, top) if (branch := _branch(source, node)) is not None]


def compares(source: ParsedText, branch: ConditionalBranch, name: str) -> str:
    """Return how a condition compares its subject with a name: its text with a mark in place of it; "" if not."""
    text = source.text[slice(*branch.condition)]
    marked, count = whole(name).subn("\0", text)
    return marked if count == 1 and len(text) <= LONGEST and _EQUAL.search(text) and not _SEVERAL.search(text) else ""


def joint(source: ParsedText, chain: Sequence[ConditionalBranch]) -> str:
    """Return the text between the body of a branch and the condition of the next one; "" if none is joined so."""
    for one, other in pairwise(chain):
        between = source.text[one.body[1] : other.condition[0]]
        if _JOINED.match(between):
            return between
    return ""


def _nodes(source: ParsedText, top: Node) -> Iterator[Node]:
    yield top
    for node in _others(source, top):
        yield from _nodes(source, node)


def _others(source: ParsedText, node: Node) -> list[Node]:
    """Return the next branches of a branch, which may be in an `else`."""
    found = node.children_by_field_name("alternative")
    inner = [one if one.type in source.syntax.chained else first_child(one) for one in found]
    return [one for one in inner if one is not None and one.type in source.syntax.chained]


def _branch(source: ParsedText, node: Node) -> ConditionalBranch | None:
    condition = node.child_by_field_name("condition")
    body = next((found for name in BODIES if (found := node.child_by_field_name(name)) is not None), None)
    if condition is None or body is None:
        return None
    start, end = source.span_of(body)
    return ConditionalBranch(source.span_of(condition), (start, start + len(source.text[start:end].rstrip())))
