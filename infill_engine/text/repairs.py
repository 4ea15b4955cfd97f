"""Repairs of one line whose syntax is broken: a token put in, taken out, exchanged or moved, checked by a parse.

What is tried is punctuation that the line lacks or has twice, and the words that open and end bodies. Every variant has
a cost; the cheapest that leave the fewest faults in the text are the repairs.
"""

from tree_sitter import Tree

from infill_engine.text import syntax
from infill_engine.text.broken_line import Line
from infill_engine.text.repair_variants import variants

LONGEST = 400  # characters of a line
MOST_TRIED = 500  # variants of one line
MOST_REPAIRS = 3
SURE = 5.5  # a dearer repair must be the only one
EVIDENT = 2.0  # the dearest repair of a line in which no error begins
SLACK = 0.5  # how much dearer than the cheapest repair another one may be


def repairs(before: str, line: str, after: str, language: str, *, near: bool = True) -> list[str]:
    """Return what may stand in place of a broken line, best first; empty if no single token mends it.

    `before` and `after` are the lines around it. `near`: an error begins in the line. Where none does, only what the
    line evidently lacks is a repair.
    """
    tree = None if len(line) > LONGEST else syntax.parse(before + line + after, language)
    if tree is None or not tree.root_node.has_error:
        return []
    left, right = syntax.to_bytes(before), syntax.to_bytes(after)
    now = _faults(tree, len(left), len(left) + len(syntax.to_bytes(line)))
    found: list[tuple[int, float, str]] = []
    tried = sorted(variants(Line.of(line, after, language)), key=lambda each: each.cost)
    for variant in tried[:MOST_TRIED]:
        if not near and variant.cost > EVIDENT:
            break
        if found and variant.cost > min(found)[1] + SLACK and min(found)[0] == 0:
            break
        mended = syntax.refilled(tree, left, line, variant.text, right, language)
        end = len(left) + len(syntax.to_bytes(variant.text))
        rest = now if mended is None else _faults(mended, len(left), end)
        if rest < now:
            found.append((rest, variant.cost, variant.text))
    least = min(found)[0] if found else 0
    costs = {text: cost for faults, cost, text in sorted(found, reverse=True) if faults == least}
    texts = sorted(costs, key=lambda text: costs[text])
    if len(texts) > 1 and costs[texts[0]] > SURE:
        return []  # anything would do
    return texts[:MOST_REPAIRS]


def _faults(tree: Tree, start: int, end: int) -> int:
    """Count the faults of a tree, those that begin between `start` and `end` twice."""
    faults = 0
    waiting = [tree.root_node] if tree.root_node.has_error else []
    for _ in range(syntax.MOST_VISITED):
        if not waiting:
            break
        node = waiting.pop()
        if node.is_error or node.is_missing:
            faults += 1 + (start <= node.start_byte <= end)
        waiting.extend(child for child in node.children if child.has_error or child.is_missing)
    return faults
