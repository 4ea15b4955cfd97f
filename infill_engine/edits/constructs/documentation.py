"""The lines that document the parameters of a function: in the comment above it, or in its docstring."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.constructs.parameters import Parameter
from infill_engine.edits.parsed_text import ParsedText, first_child
from infill_engine.text import lines
from infill_engine.text.languages.registry import language

_MARKS = re.compile(r"[ \t]*(?:\*(?!/)|///?|--+|#+)?[ \t]*")  # what precedes the text of a line
_TAG = re.compile(r"[@\\:<]|\*/|\"\"\"|'''|\Z")


@dataclass(frozen=True, slots=True)
class Documented:
    """What documents a parameter: whole lines from `start` to `end`, and the place of its name. In characters."""

    name: str
    start: int
    end: int
    at: int
    match: re.Match[str]

    def like(self, parameter: Parameter) -> str:
        """Return a line of this form for another parameter, without a description."""
        parts = {group: text or "" for group, text in self.match.groupdict().items()}
        kind = parts.get("type", "")
        declared = _declared(parameter)
        inner = kind.strip(" \t()[]{}:")
        written = {"name": parameter.name, "type": kind.replace(inner, declared) if inner and declared else ""}
        line = "".join(written.get(group, parts[group]) for group in sorted(parts, key=self.match.start))
        return line.rstrip() + ("</param>" if line.endswith('">') else "") + "\n"


def is_typed_above(source: ParsedText, function: Node) -> bool:
    """Return whether the comment above a function declares its parameters, which no edit of them changes."""
    pattern = source.syntax.typed_above
    span = None if pattern is None else _documentation(source, function)
    return pattern is not None and span is not None and pattern.search(source.text, *span) is not None


def documented(source: ParsedText, function: Node, *, whole: bool = True) -> list[Documented] | None:
    """Return what documents the parameters of a function, in order; None if it cannot be told where one ends, unless
    only the names are wanted and not the `whole`."""
    span = _documentation(source, function) if source.syntax.documents else None
    for pattern in source.syntax.documents:
        found = [] if span is None else _documented(source, pattern, span, whole=whole)
        if found != []:
            return found
    return []


def _documented(
    source: ParsedText, pattern: re.Pattern[str], span: tuple[int, int], *, whole: bool
) -> list[Documented] | None:
    found: list[Documented] = []
    rows = list(_rows(source.text, *span))
    for number, (start, end) in enumerate(rows):
        match = pattern.match(source.text, start, end)
        if match is None:
            continue
        depth = _depth(source.text[start:end])
        for follow, last in rows[number + 1 :]:
            text = source.text[follow:last]
            said = _MARKS.sub("", text, count=1)
            if pattern.match(text) or _TAG.match(said) or _depth(text) < depth:
                break
            if whole and _depth(text) == depth:
                return None  # it may belong to the parameter, or not
            end = last
        found.append(Documented(match["name"], start, min(end + 1, len(source.text)), match.start("name"), match))
    return found


def _documentation(source: ParsedText, function: Node) -> tuple[int, int] | None:
    """Return the place of a function's docstring, or of the comments right above it."""
    if language(source.language).layout.documents:
        body = function.child_by_field_name("body")
        first = first_child(body)
        inner = first_child(first) or first
        return source.span_of(inner) if inner is not None and inner.type in source.nodes.strings else None
    node = function
    while node.parent is not None and node.parent.type not in source.nodes.bodies and node.parent.parent is not None:
        if node.parent.start_point[0] != node.start_point[0]:
            break
        node = node.parent
    above, top = node.prev_named_sibling, node
    while above is not None and above.type in source.nodes.comments and top.start_point[0] - above.end_point[0] <= 1:
        top, above = above, above.prev_named_sibling
    if above is None and top == node and node.parent is not None and node.parent.prev_named_sibling is not None:
        above = node.parent.prev_named_sibling  # the first comment in a body of Ruby is in front of it
        while above is not None and above.type in source.nodes.comments:
            top, above = above, above.prev_named_sibling
    return None if top == node else (source.start_of(top), source.start_of(node))


def _rows(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = lines.start_of(text, start)
    while at < end:
        last = lines.around(text, at, at)[1]
        yield at, last
        at = last + 1


def _depth(line: str) -> int:
    """Return the column at which the text of a line begins."""
    match = _MARKS.match(line)
    return 0 if match is None else match.end()


def _declared(parameter: Parameter) -> str:
    """Return the declared type of a parameter; "" if there is none."""
    after = re.match(rf"[$&*]*{re.escape(parameter.name)}\??\s*:\s*([^=]+)", parameter.text)
    before = re.match(rf"(?:final\s+)?([^=]*?)\s*[$&.]*\b{re.escape(parameter.name)}\b", parameter.text)
    found = after or before
    return "" if found is None else found[1].strip()
