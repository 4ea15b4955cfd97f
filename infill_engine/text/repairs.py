"""Repairs of a line whose syntax is broken: a token is inserted, removed, replaced or moved, and a parse checks the
result.

The variants concern missing and doubled punctuation and the words that open and end bodies. Every variant has a cost.
The repairs are the cheapest of those that leave the fewest faults in the text.
"""

from typing import NamedTuple

from tree_sitter import Tree

from infill_engine.text import syntax
from infill_engine.text.broken_line import Line
from infill_engine.text.repair_variants import variants

LONGEST = 400  # characters of a line
MOST_TRIED = 500  # variants of one line
MOST_REPAIRS = 3
SURE = 5.5  # a more expensive repair must be the only one
EVIDENT = 2.0  # the largest cost in a line in which no error begins
SLACK = 0.5  # the largest difference to the cheapest repair


def repairs(before: str, line: str, after: str, language: str, *, error_in_line: bool = True) -> list[str]:
    """Return repairs of a broken line, best first; empty if no single token repairs it.

    `before` and `after` are the lines around it. `error_in_line` says that an error begins in the line. If none does, a
    repair may only insert a token that is clearly missing.
    """
    tree = None if len(line) > LONGEST else syntax.parse(before + line + after, language)
    if tree is None or not tree.root_node.has_error:
        return []
    left, right = syntax.to_bytes(before), syntax.to_bytes(after)
    now = _broken(tree, len(left), len(left) + len(syntax.to_bytes(line)))
    found: list[tuple[int, float, str]] = []
    tried = sorted(variants(Line.of(line, after, language)), key=lambda each: each.cost)
    for variant in tried[:MOST_TRIED]:
        if not error_in_line and variant.cost > EVIDENT:
            break
        if found and variant.cost > min(found)[1] + SLACK and min(found)[0] == 0:
            break
        repaired = syntax.refilled(tree, left, line, variant.text, right, language)
        end = len(left) + len(syntax.to_bytes(variant.text))
        rest = now if repaired is None else _broken(repaired, len(left), end)
        shrunk = not now.begins and rest.faults == now.faults and rest.size < now.size and variant.cost <= EVIDENT
        if rest.faults < now.faults or shrunk:
            found.append((rest.faults, variant.cost, variant.text))
    least = min(found)[0] if found else 0
    costs = {text: cost for faults, cost, text in sorted(found, reverse=True) if faults == least}
    texts = sorted(costs, key=lambda text: costs[text])
    if len(texts) > 1 and costs[texts[0]] > SURE:
        return []  # any text would do
    return texts[:MOST_REPAIRS]


class _Broken(NamedTuple):
    """How broken a text is. `size` is the number of bytes inside errors."""

    faults: int  # errors that begin in the line count twice
    size: int
    begins: bool  # whether one begins in the line


def _broken(tree: Tree, start: int, end: int) -> _Broken:
    """Measure the faults of a tree, given where the line is in it."""
    faults = size = within = 0
    waiting = [tree.root_node] if tree.root_node.has_error else []
    for _ in range(syntax.MOST_VISITED):
        if not waiting:
            break
        node = waiting.pop()
        if node.is_error or node.is_missing:
            faults += 1
            within += start <= node.start_byte <= end
            size += node.end_byte - node.start_byte
        waiting.extend(child for child in node.children if child.has_error or child.is_missing)
    return _Broken(faults + within, size, within > 0)
