"""A name was changed where it is defined: propose its other uses."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import islice

from infill_engine.edits.constructs.calls import calls_of, is_overloaded
from infill_engine.edits.constructs.documentation import documented
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.definitions import meant_by
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import FOREIGN, LOCALS, Occurrence, Owner, Role, defines
from infill_engine.edits.resolution.renamings import Renaming, renamings
from infill_engine.edits.types import Edit, Kind, Proposal, counted
from infill_engine.text.languages.node_types import Syntax

# How likely the user wants the uses to follow, by what was renamed.
CONFIDENCE = {
    "parameter": 0.96,
    "function": 0.94,
    "class": 0.94,
    "import": 0.9,
    "alias": 0.9,
    "module": 0.9,
    "member": 0.88,
}
OTHERWISE = 0.94
LAST_USE = 0.7  # factor where the only use of a local variable has another name
MODULES = ("module", "package")  # names of files
IMPORTED = ("import", "module")  # names from another file that may have another name here
UNNAMED = ("package", "file")  # names from another file that may not
REPLACED, IMPORT_INSTEAD = 0.94, 0.6  # other uses of an imported name, and the import once there are none
OTHER_OBJECTS = 0.45  # for members of objects of unknown class


def propose_renames(edit: ParsedEdit) -> list[Proposal]:
    """Return a proposal for each name that was changed where it is defined, or at two of its uses."""
    found: list[Proposal] = []
    rewritten: list[Proposal] = []
    for renaming in edit.once(renamings):
        if renaming.old.startswith("__") and renaming.old.endswith("__"):
            continue  # a name that the language looks up
        made = list(_proposals(edit, renaming))
        found += made
        rewritten += made[:1] if renaming.rewritten else []
    return [_together(rewritten), *found] if len(rewritten) > 1 else found


def leaves_uses(edit: ParsedEdit) -> bool:
    """Return whether a name was changed where it is defined, and its old name still occurs elsewhere."""
    defined = next((one for one in edit.once(renamings) if one.is_defined(edit.before)), None)
    if defined is None:
        return False
    return any(one.start not in defined.starts for one in Names.of(edit.before, defined.old).all)


def _together(proposals: Sequence[Proposal]) -> Proposal:
    """Return one proposal for the uses of all names in a rewritten declaration."""
    edits = tuple(sorted(edit for proposal in proposals for edit in proposal.edits))
    return Proposal(edits, _label(edits), max(proposal.confidence for proposal in proposals), Kind.RENAME)


def _proposals(edit: ParsedEdit, renaming: Renaming) -> Iterator[Proposal]:
    source, names = edit.before, Names.of(edit.before, renaming.old)
    edited = [one for start in renaming.starts if (one := names.at(start)) is not None]
    owner = edited[0].owner if edited else None
    if owner is None or names.opaque or any(one.owner != owner for one in edited):
        return
    if any(one.kind in MODULES for one in edited) and not renaming.rewritten:
        return  # another module
    defining = [one for one in edited if defines(one, source.syntax)]
    group, others = names.owned(owner), Names.of(source, renaming.new)
    last = not defining and not others.all and _is_last_use(names, group, edited)
    if not (defining or last or (len(edited) > 1 and _is_only(names, owner))):
        return  # another variable was meant here, or some of the uses may mean something else
    if not _is_exact(source.syntax, names, owner, group):
        return
    known = not defining and _is_known(others, names, owner)
    if not known and _is_taken(others, names, owner):
        return
    if known or (not defining and any(one.kind in FOREIGN for one in group)):
        yield from _replaced(edit, group, renaming, known=known)
        return
    meant = meant_by(source, group, defining or edited, [one for one in group if defines(one, source.syntax)])
    if meant is None:
        return
    certain = _confidence(source, group, defining or edited, source.syntax) * meant.certain * (LAST_USE if last else 1)
    whole = len(meant.occurrences) == len(group)
    owners = linked(names, others, owner) if whole else {owner}
    if not owners:
        return
    also = [one for one in names.all if not owners.isdisjoint((one.owner, one.also))] if whole else []
    rest = [one for one in dict.fromkeys((*meant.occurrences, *also)) if one.start not in renaming.starts]
    declared = defining or [one for one in meant.occurrences if defines(one, source.syntax)]
    rest += _keywords(source, names, declared)
    if any(one.kind in UNNAMED for one in rest) or _is_named_elsewhere(names, declared, rest):
        return
    rest += _documented(source, declared)
    write = partial(_written, source.syntax, owners, renaming)
    edits = _edits(edit, rest, write)
    member = whole and any(names.scopes[one.scope].is_class for one in owners)
    loose = [one for one in names.all if member and one.role is Role.MEMBER and one.owner is None]
    if edits and certain and not any(names.may_be_of(one, each) for one in loose for each in owners):
        remain = f", {len(loose)} on other objects remain{'s' * (len(loose) == 1)}" if loose else ""
        yield Proposal(edits, _label(edits) + remain, certain, Kind.RENAME)
    more = _edits(edit, [*rest, *loose], write)
    if len(more) > len(edits) and certain:
        yield Proposal(more, f"{_label(more)}, on other objects too", OTHER_OBJECTS, Kind.RENAME)


def _replaced(edit: ParsedEdit, group: Sequence[Occurrence], renaming: Renaming, *, known: bool) -> Iterator[Proposal]:
    """Yield the other uses of a name that two uses no longer mean; then what is imported, if the new name is not known
    everywhere."""
    uses = [one for one in group if one.start not in renaming.starts and not defines(one, edit.syntax)]
    imports = [one for one in group if defines(one, edit.syntax)]
    if not uses and not known and [one.kind for one in imports] == ["import"]:
        edits = _edits(edit, imports, lambda _: renaming.new)
        yield Proposal(edits, f"import {renaming.new} instead", IMPORT_INSTEAD, Kind.RENAME)
    elif uses:
        edits = _edits(edit, uses, lambda _: renaming.new)
        yield Proposal(edits, _label(edits).replace("rename", "replace"), REPLACED, Kind.RENAME)


def _is_last_use(names: Names, group: Sequence[Occurrence], edited: Sequence[Occurrence]) -> bool:
    """Return whether nothing else reads what a function defines for itself. Other files may read all else."""
    syntax, owner = names.source.syntax, edited[0].owner
    defined = [one for one in group if defines(one, syntax)]
    function = enclosing(edited[0].node, syntax.functions)
    scope = None if owner is None else names.scopes[owner.scope]
    return (
        scope is not None
        and function is not None
        and not scope.is_class
        and function.start_byte <= scope.node.start_byte
        and len(group) == len(defined) + len(edited)
        and bool(defined)
        and all(one.kind in LOCALS for one in defined)
    )


def _is_only(names: Names, owner: Owner) -> bool:
    """Return whether all members of a name in the text are of one class. Variables are certain."""
    only = all(owner in (one.owner, one.also) or one.role is Role.OTHER for one in names.all)
    return only or not names.scopes[owner.scope].is_class


def linked(names: Names, others: Names, owner: Owner) -> set[Owner]:
    """Return the owners that get the new name together, because one place names all of them; none if one cannot.

    A variable that takes a field from an object of a known shape keeps its name if the new one is taken.
    """
    found, waiting = {owner}, [owner]
    while waiting:
        current = waiting.pop()
        for one in names.all:
            own, also = one.owner, one.also
            if one.role is not Role.DEFINITION or own is None or also is None or current not in (own, also):
                continue
            other = own if also == current else also
            if other in found:
                continue
            taken = _is_taken(others, names, other)
            if one.kind in ("promoted", "accessor"):
                if taken and other.space != "call":
                    return set()
            elif taken or names.scopes[also.scope].kind != "shape":
                continue
            found.add(other)
            waiting.append(other)
    return found


def _is_exact(syntax: Syntax, names: Names, owner: Owner, group: Sequence[Occurrence]) -> bool:
    """Return whether the whole group, and nothing else, certainly means the same thing."""
    if any(one.unsure for one in group) or is_overloaded(group, syntax):
        return False
    if not syntax.dynamic_scope or owner.space:
        return True
    owners = {one.owner for one in names.all if one.role in (Role.DEFINITION, Role.REFERENCE) and not one.space}
    outermost = {names.source.root.id}
    return len(owners) == 1 or (None not in owners and not outermost & {one.scope for one in owners if one})


def _label(edits: Sequence[Edit]) -> str:
    return f"rename {counted(len(edits), 'more use')}"


def _is_known(others: Names, names: Names, owner: Owner) -> bool:
    """Return whether the new name of a variable is one that every file knows."""
    builtin = others.name in names.source.syntax.builtins and not any(one.owner for one in others.all)
    return builtin and not names.scopes[owner.scope].is_class


def _is_taken(others: Names, names: Names, owner: Owner) -> bool:
    """Return whether the new name already means something in the scope of the old one."""
    scope = names.scopes[owner.scope]
    if scope.kind in ("class", "shape"):
        return bool(others.owned(owner))
    first, last = names.source.span_of(scope.node)
    inside = (one for one in others.all if first <= one.start < last and one.kind != "member")
    return any(one.role in (Role.DEFINITION, Role.REFERENCE) for one in inside)


def _confidence(source: ParsedText, group: Sequence[Occurrence], edited: Sequence[Occurrence], syntax: Syntax) -> float:
    first = min(edited, key=lambda one: one.start)
    kind = "member" if first.role is Role.MEMBER else first.kind
    certain = CONFIDENCE.get(kind, OTHERWISE)
    defining = [one for one in group if defines(one, syntax)]
    if not defining or defining[0].start >= first.start:
        return certain
    statement = enclosing(first.node, ("expression_statement", "variable_declarator"))
    if statement is not None and len(edited) == 1:
        start, end = source.span_of(statement)
        if any(start <= one.start < end and one.start != first.start for one in group):
            return 0.0  # `total = f(count)`: names in the value stay
    return certain


def _keywords(source: ParsedText, names: Names, edited: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the arguments that calls pass by the name of a parameter."""
    spelled = [one for one in names.all if one.role is Role.KEYWORD]
    parameters = [one for one in edited if one.kind in ("parameter", "promoted")]
    if not spelled or not parameters:
        return []
    function = enclosing(parameters[0].node, source.syntax.functions)
    if function is None:
        return []
    passed = {call.arguments.id for call in calls_of(source, function) if call.certain}
    around = (list(islice(ancestors(one.node), 2)) for one in spelled)
    return [one for one, near in zip(spelled, around, strict=True) if len(near) == 2 and near[1].id in passed]


def _is_named_elsewhere(names: Names, edited: Sequence[Occurrence], known: Sequence[Occurrence]) -> bool:
    """Return whether a call of an unknown function may name a parameter that every call must name."""
    nodes = (one.node.parent for one in edited)
    if not any(node is not None and node.type in names.source.syntax.keyword_parameters for node in nodes):
        return False
    arguments = names.source.syntax.last_arguments
    return any(
        one not in known
        and ((one.role is Role.KEYWORD and one.owner is None) or one.node.type == "hash_key_symbol")
        and one.node.parent is not None
        and one.node.parent.type in arguments
        for one in names.all
    )


def _documented(source: ParsedText, edited: Sequence[Occurrence]) -> list[Occurrence]:
    """Return the names of a parameter in the documentation of its function."""
    found = []
    for one in edited:
        function = enclosing(one.node, source.syntax.functions) if one.kind in ("parameter", "promoted") else None
        for line in documented(source, function, whole=False) or () if function is not None else ():
            if line.name == source.text[one.start : one.end]:
                node = source.node_at(line.at, line.at + len(line.name))
                found.append(Occurrence(line.at, line.at + len(line.name), Role.OTHER, "", node, ()))
    return found


def _edits(edit: ParsedEdit, group: Sequence[Occurrence], write: Callable[[Occurrence], str]) -> tuple[Edit, ...]:
    made = (edit.replacing(one.start, one.end, write(one)) for one in group)
    return tuple(sorted(one for one in made if one is not None))


def _written(syntax: Syntax, owners: Collection[Owner | None], renaming: Renaming, one: Occurrence) -> str:
    """Return the new text of a use. It has both names where the old name is still valid outside or inside."""
    above = one.node.parent
    form = syntax.shorthands.get(one.node.type)
    if form is None and above is not None and above.child_by_field_name("alias") is None:
        before = one.node.prev_sibling
        form = syntax.shorthands.get(above.type) if before is None or before.type != "=" else None
    if form is None:
        return f"{renaming.old} as {renaming.new}" if one.kind in IMPORTED else renaming.new
    outside, inside = (renaming.new if each in owners else renaming.old for each in (one.also, one.owner))
    return renaming.new if outside == inside else form.format(outside=outside, inside=inside)
