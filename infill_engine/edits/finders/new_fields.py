"""A field was added to a class: propose its value in the literals of the class, and in the constructor.

struct Size { w: u32, h: u32 }          and so     Size { w: 1, h }
private final int port;                 and so     Conf(String host, int port) { …; this.port = port; }
"""

from collections.abc import Iterator
from itertools import islice

from tree_sitter import Node

from infill_engine.edits.changes import Shift, inserted, make
from infill_engine.edits.constructs.arguments import ADDED_KNOWN, ADDED_UNKNOWN, ValuesInSight
from infill_engine.edits.constructs.calls import Call
from infill_engine.edits.constructs.constructors import beside, field_assignments, is_constructor
from infill_engine.edits.constructs.parameters import parameter_list_of, parameters_of
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors
from infill_engine.edits.resolution.captures import Defined, defined_in
from infill_engine.edits.resolution.lookup import MEMBERS
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.renamings import renamings
from infill_engine.edits.types import Change, Edit, Kind, Proposal, counted

IN_CONSTRUCTOR = 0.8
MOST_LITERALS = 60
UNCHANGED = Shift(())


def propose_new_fields(edit: ParsedEdit) -> Iterator[Proposal]:
    """Yield the proposals for each field that the changes declare."""
    source = edit.after
    renamed = {one.new for one in edit.once(renamings) if one.is_defined(edit.before)}
    for change, start, end in inserted(edit.changes):
        if change.new.strip() and change.new.strip() != edit.before.text[change.start : change.end].strip():
            for one in defined_in(source, start, end):
                declaration = _declaration(source, one)
                there = edit.back(one.start, one.start + len(one.name)) is not None
                if declaration is not None and not there and one.name not in renamed:
                    yield from _in_constructor(source, one.name, declaration)
                    yield from _in_literals(source, one, declaration)


def _declaration(source: ParsedText, field: Defined) -> Node | None:
    """Return the whole declaration of a field that needs a value, in the body of its class."""
    if field.kind not in (*MEMBERS, "variable") or source.syntax.required is None:
        return None
    node = source.node_at(field.start, field.start + len(field.name))
    whole = next((one for one in ancestors(node) if one.parent and one.parent.type in source.syntax.field_lists), None)
    matches = whole is not None and source.syntax.required.match(source.text_of(whole).strip().rstrip(";,"))
    return whole if matches else None


def _siblings(source: ParsedText, declaration: Node) -> list[Defined]:
    """Return the other fields of the class, with those above the new one first, nearest first."""
    listed = declaration.parent
    assert listed is not None
    start, end = source.span_of(declaration)
    others = (child for child in listed.named_children if child.type == declaration.type and child != declaration)
    fields = [one for child in others for one in defined_in(source, *source.span_of(child))[:1]]
    above = [one for one in fields if one.start < start]
    return [*reversed(above), *(one for one in fields if one.start > end)]


def _in_constructor(source: ParsedText, name: str, declaration: Node) -> Iterator[Proposal]:
    """Yield the parameter and the line that set a field in the only constructor, after those of a sibling."""
    listed = declaration.parent
    makers = [] if listed is None else [child for child in listed.named_children if is_constructor(source, child)]
    parameters = parameters_of(source, makers[0]) if len(makers) == 1 else None
    if parameters is None or any(parameter.name == name for parameter in parameters):
        return
    settings = {one.field: one for one in field_assignments(source, makers[0]) if one.value == one.field}
    own = [parameter.name for parameter in parameters]
    model = next((one for one in _siblings(source, declaration) if one.name in settings and one.name in own), None)
    if model is None or name in settings:
        return
    below = model.start < source.start_of(declaration)
    holder = parameter_list_of(source.syntax, makers[0])
    nodes = [] if holder is None else [one for one in holder.named_children if one.type not in source.nodes.comments]
    written = "" if len(nodes) != len(own) else _parameter_like(source, nodes[own.index(model.name)], name, declaration)
    line = beside(source, settings[model.name], settings[model.name].like(name), UNCHANGED, below=below)
    if written and line is not None:
        start, end = source.span_of(nodes[own.index(model.name)])
        place = Edit.insertion(end, f", {written}") if below else Edit.insertion(start, f"{written}, ")
        yield Proposal(tuple(sorted((place, line))), f"set {name} in the constructor", IN_CONSTRUCTOR, Kind.FIELD)


def _parameter_like(source: ParsedText, model: Node, name: str, declaration: Node) -> str:
    """Return a parameter written like another one, with the type of a declared field; "" if that is not possible."""
    old, new = _type_of(model), _type_of(declaration)
    label = model.child_by_field_name("name") or model.child_by_field_name("pattern")
    if old is None or new is None or label is None:
        return ""
    sigil = "$" if source.text_of(label).startswith("$") else ""
    parts = (Change(*source.span_of(old), source.text_of(new)), Change(*source.span_of(label), sigil + name))
    return make(source.text, sorted(parts), *source.span_of(model))


def _type_of(node: Node) -> Node | None:
    inner = (one.child_by_field_name("type") for one in (node, *node.named_children))
    return next((found for found in inner if found is not None), None)


def _in_literals(source: ParsedText, field: Defined, declaration: Node) -> Iterator[Proposal]:
    """Yield an entry for each literal of the class, next to that of a sibling; all literals have all siblings."""
    siblings = _siblings(source, declaration)
    found = [_entries(source, sibling) for sibling in siblings]
    literals = {entry.parent.id: entry.parent for entries in found for entry in entries if entry.parent is not None}
    if not literals or len(literals) > MOST_LITERALS or any(len(entries) != len(literals) for entries in found):
        return
    values, edits, known = ValuesInSight(source, field.name), [], True
    below = siblings[0].start < field.start
    for entry in found[0]:
        value = values.at(Call(entry, 0))
        known = known and value is not None
        written = _entry_like(source, entry, field.name, value or field.name)
        start, end = source.span_of(entry)
        if not written:
            return
        edits.append(_inserted(source, entry, written, end if below else start, below=below))
    label = f"set {field.name} in {counted(len(edits), 'literal')}"
    yield Proposal(tuple(sorted(edits)), label, ADDED_KNOWN if known else ADDED_UNKNOWN, Kind.FIELD)


def _entries(source: ParsedText, sibling: Defined) -> list[Node]:
    """Return the entries of literals that set a field of a class."""
    names = Names.of(source, sibling.name)
    one = names.at(sibling.start)
    owner = None if one is None else one.owner
    if owner is None:
        return []
    uses = [use for use in names.all if owner in (use.owner, use.also) and use.start != sibling.start]
    around = (islice((use.node, *ancestors(use.node)), 3) for use in uses)
    found = (next((node for node in near if node.type in source.syntax.entries), None) for near in around)
    return [entry for entry in found if entry is not None]


def _entry_like(source: ParsedText, model: Node, name: str, value: str) -> str:
    """Return an entry written like another one: `name: value`, or `name` alone; "" if the other has another form."""
    if value == name and not source.syntax.entries.isdisjoint(source.syntax.shorthands):
        return name
    if model.named_child_count < 2:
        return ""
    key, last = source.text_of(model.named_children[0]), model.named_children[-1]
    sign = key[: len(key) - len(key.lstrip("."))]
    parts = (Change(*source.span_of(model.named_children[0]), sign + name), Change(*source.span_of(last), value))
    return make(source.text, parts, *source.span_of(model))


def _inserted(source: ParsedText, model: Node, written: str, at: int, *, below: bool) -> Edit:
    """Return an entry inserted after or before another one, on a line of its own if the other has one."""
    start = source.start_of(model)
    line = source.text.rfind("\n", 0, start) + 1
    lead = source.text[line:start]
    between = f",\n{lead}" if line and not lead.strip() else ", "
    return Edit.insertion(at, between + written if below else written + between)
