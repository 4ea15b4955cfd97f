"""Recent edits, in any file, are rules of tokens: find the places in the text where they apply.

`propagation` compares the nodes of the newest edit with others, and finds places with other names. This repeats older
edits too, in text that is not divided into nodes as well.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

from infill_engine.edits.changes import inserted
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors
from infill_engine.edits.resolution.captures import sight
from infill_engine.edits.resolution.occurrence import FOREIGN, defines
from infill_engine.edits.similar.likelihood import SimilarPlace, features_of_repeat
from infill_engine.edits.similar.repeats import Lines, Repeat, repeats
from infill_engine.edits.similar.token_rules import Rule, rules_of
from infill_engine.edits.tokens import WORD


def places(edit: ParsedEdit) -> Iterator[SimilarPlace]:
    """Yield the places of all rules, those of the newest first."""
    lines, rules = Lines(edit.after.text), rules_of(edit.history)
    times = Counter(rule.key for rule in rules)
    opposites = {rule.opposite for rule in rules}
    written = [{line.strip() for line in new.splitlines()} for _, new in edit.history]
    touched, row = _touched(edit, lines), lines.row_of(edit.place)
    newest: dict[object, Rule] = {}
    for rule in rules:
        newest.setdefault(rule.key, rule)
    for key, rule in newest.items():
        if key in opposites or _is_moved(rule, written) or _is_rename(rule, edit):
            continue
        found = [
            one
            for one in repeats(rule, lines)
            if touched.isdisjoint(one.rows) and (times[key] > 1 or not _says_little(rule, one, edit.after))
        ]
        for one in found:
            features = features_of_repeat(rule, one, len(found), times[key], row, edit, written)
            yield SimilarPlace(one.edits, features, one.rows[0] - row)


def _touched(edit: ParsedEdit, lines: Lines) -> set[int]:
    """Return the rows of the user's edit."""
    spans = (range(lines.row_of(start), lines.row_of(end) + 1) for _, start, end in inserted(edit.changes))
    return set(chain.from_iterable(spans))


def _is_moved(rule: Rule, written: Sequence[Collection[str]]) -> bool:
    """Return whether an edit removed lines that the user has inserted elsewhere. `written` has the lines of each
    edit."""
    if rule.swaps or any(map(str.strip, rule.new_lines)):
        return False
    gone = {line.strip() for line in rule.lines} - {""}
    return any(gone.issubset(lines) for lines in written)


def _is_rename(rule: Rule, edit: ParsedEdit) -> bool:
    """Return whether a defined name became another one. Only scopes tell which uses of the first follow."""
    swaps = [swap for swap in chain.from_iterable(rule.swaps) if len(swap.removed) == len(swap.inserted) == 1]
    pairs = [(swap.removed[0], swap.inserted[0]) for swap in swaps]
    return any(_is_defined(edit.before, old) and _is_defined(edit.after, new) for old, new in pairs)


def _is_defined(source: ParsedText, name: str) -> bool:
    found = sight(source, name).found if WORD.match(name) else ()
    return any(defines(one, source.syntax) and one.kind not in FOREIGN for one in found)


def _says_little(rule: Rule, found: Repeat, source: ParsedText) -> bool:
    """Return whether a place may be like one that was edited once by chance: lines to remove, a literal, a comment,
    parameters, or a declaration that is the same, which was copied."""
    if not rule.swaps:
        return not rule.new_lines
    span, syntax, nodes = found.edits[0].span, source.syntax, source.nodes
    node = source.node_at(span.start, max(span.end, span.start + 1))
    around = (node, *ancestors(node))
    if node.type in (*syntax.numbers, *syntax.string_parts, *nodes.strings, *nodes.comments):
        return True
    if any(one.type in syntax.parameter_lists for one in around):
        return True
    row = node.start_point[0]
    return found.similar == 1 and any(one.type in syntax.declarations and one.start_point[0] == row for one in around)
