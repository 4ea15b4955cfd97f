"""A method was added to an interface or a base class: propose it where the others are implemented, without a body.

interface Shop { int price(int id); int stock(int id); }      and so

    @Override
    public int stock(int id) {
        throw new UnsupportedOperationException();
    }

What stands before the name, its indentation and its distance are those of the method that is implemented beside it.
"""

import re
from collections.abc import Iterator
from itertools import islice

from tree_sitter import Node

from infill_engine.edits.changes import inserted
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, with_decorators
from infill_engine.edits.resolution.names import Names, declares_class
from infill_engine.edits.resolution.occurrence import Role
from infill_engine.edits.types import Edit, Kind, Proposal
from infill_engine.text import lines
from infill_engine.text.languages.node_types import Stubs

CONFIDENCE = 0.6
MOST_CLASSES = 12
MOST_METHODS = 30  # of an interface


def propose_new_methods(edit: ParsedEdit, target: ParsedText | None = None) -> Iterator[Proposal]:
    """Yield a proposal for each method without a body that the changes add, for the edited text or for another one."""
    stubs = edit.syntax.stubs
    for change, start, end in inserted(edit.changes) if stubs is not None else ():
        at = end - len(change.new.lstrip())
        node = edit.after.node_at(at, at + 1)
        around = [_inside(one) for one in (node, *ancestors(node))]
        method = next((one for one in around if stubs and _is_abstract(edit.after, one, stubs)), None)
        if stubs is None or method is None or method.has_error or not change.new.strip():
            continue
        first, last = edit.after.span_of(method.child_by_field_name("parameters") or method)
        if start <= first and last <= end:
            yield from _proposals(edit.after, method, target or edit.after, stubs)


def _is_abstract(source: ParsedText, node: Node, stubs: Stubs) -> bool:
    if node.type not in stubs.methods or node.parent is None:
        return False
    if stubs.marked is None:
        return node.child_by_field_name("body") is None
    return stubs.marked.search(source.text_of(with_decorators(node))) is not None


def _proposals(source: ParsedText, method: Node, target: ParsedText, stubs: Stubs) -> Iterator[Proposal]:
    name = source.name_of(method)
    holder = with_decorators(method).parent
    listed = [] if holder is None else [_inside(one) for one in holder.children]
    siblings = [one for one in listed if _is_abstract(source, one, stubs)]
    if not 1 < len(siblings) <= MOST_METHODS:
        return
    at = siblings.index(method)
    done: set[tuple[str, ...]] = _classes(target, name)
    edits = []
    for sibling in (*reversed(siblings[:at]), *siblings[at + 1 :]):
        for one, names in _implementations(source, sibling, target, stubs):
            others = (source.name_of(other) for other in siblings if other != method)
            if names in done or (stubs.structural and not all(names in _classes(target, other) for other in others)):
                continue
            made = _stub(source, method, sibling, target, one, stubs)
            if made is not None:
                done.add(names)
                edits.append(made)
    if edits and len(edits) <= MOST_CLASSES:
        label = f"implement {name} in {len(edits)} class{'es' if len(edits) > 1 else ''}, without a body yet"
        yield Proposal(tuple(sorted(edits)), label, CONFIDENCE, Kind.FIELD)


def _inside(node: Node) -> Node:
    """Return a definition without its decorators."""
    return node.child_by_field_name("definition") or node


def _classes(source: ParsedText, name: str) -> set[tuple[str, ...]]:
    """Return the names of the classes that define a method."""
    names = Names.of(source, name)
    classes = (names.class_around(one) for one in names.all if one.role is Role.DEFINITION)
    return {one.names for one in classes if one is not None}


def _implementations(
    source: ParsedText, sibling: Node, target: ParsedText, stubs: Stubs
) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield the methods of a text that implement one of an interface, with the names of their classes."""
    name, node = source.name_of(sibling), sibling.child_by_field_name("name")
    names, others = Names.of(source, name), Names.of(target, name)
    own = None if node is None else names.at(source.start_of(node))
    if own is None or others.opaque:
        return
    base = names.class_around(own)
    if base is None or (target is not source and declares_class(target, base)):
        return
    for one in others.all:
        other = others.class_around(one) if one.role is Role.DEFINITION and (names, one) != (others, own) else None
        near = islice(ancestors(one.node), 2)
        function = next((node for node in near if node.child_by_field_name("body") is not None), None)
        if other is None or function is None or other.names == base.names:
            continue
        if (stubs.structural or set(base.names) & set(other.bases)) and not _is_abstract(target, function, stubs):
            yield function, other.names


def _head(source: ParsedText, method: Node, stubs: Stubs) -> str:
    """Return a method of an interface up to its body, without modifiers."""
    text = source.text[source.start_of(method) : source.head_end(method)].strip().rstrip(":;{ ")
    return text if stubs.modifiers is None else stubs.modifiers.sub("", text)


def _stub(
    source: ParsedText, method: Node, sibling: Node, target: ParsedText, other: Node, stubs: Stubs
) -> Edit | None:
    """Return the insertion of a method below the one that implements another; None if that is written differently."""
    text, body = target.text, other.child_by_field_name("body")
    assert body is not None
    start, last = target.span_of(other)
    head = text[start : target.start_of(body)]
    named = re.escape(_head(source, sibling, stubs).partition("(")[0])
    at = re.search(rf"(?<![\w$]){named}(?=\()", head)
    if at is None:
        return None
    indent = lines.indent_of(text[lines.start_of(text, start) :])
    near = text[last:].lstrip(" \t\r")
    close = near.startswith("\n") and re.match(r"\n\s*(?:\n|[})]|\Z)", near) is None
    lead = re.sub(r"\basync\s+", "", head[: at.start()])
    made = f"{lead}{_head(source, method, stubs)}{_body(target, other, body, indent, stubs)}"
    return Edit.insertion(last, ("\n" if close else "\n\n") + indent + made)


def _body(source: ParsedText, other: Node, body: Node, indent: str, stubs: Stubs) -> str:
    """Return a body laid out like another one."""
    text, start = source.text, source.start_of(body)
    before = text[source.start_of(other) : start]
    braces = text[start] == "{"
    first = source.start_of(body.named_children[0]) if body.named_children else start
    alone = "\n" in text[start:first] or (not braces and "\n" in before[len(before.rstrip()) :])
    within = lines.indent_of(text[lines.start_of(text, first) :]) if alone else ""
    if text.startswith("=>", start):
        return f" => {stubs.statement}"
    if not braces:
        return f":\n{within}{stubs.statement}" if alone else f": {stubs.statement}"
    inside = f"\n{within}{stubs.statement}\n{indent}" if alone else f" {stubs.statement} "
    return f"{before[len(before.rstrip()) :]}{{{inside}}}"
