"""A name was changed where it is defined: propose its other uses."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from infill_engine.edits.constructs.calls import calls_of, is_overloaded
from infill_engine.edits.constructs.documentation import documented
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.definitions import meant_by
from infill_engine.edits.resolution.linked import is_taken, linked
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
ONLY_USE = 0.7  # factor where the only use of a local variable has another name
MODULES = ("module", "package")  # names of files
IMPORTED = ("import", "module")  # names from another file that may have another name here
UNNAMED = ("package", "file")  # names from another file that may not
REPLACED, IMPORT_INSTEAD = 0.94, 0.6  # other uses of an imported name, and the import once there are none
# For members of objects of unknown class. It is below `SHOW_FROM`, so the proposal is never shown: it makes the reason
# `LOW_CONFIDENCE`, and keeps away proposals that would repeat the edit at these places.
OTHER_OBJECTS = 0.45


def propose_renames(edit: ParsedEdit) -> list[Proposal]:
    """Return what follows from each name that was changed: where it is defined, at two uses, or at the only one."""
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


@dataclass(frozen=True, slots=True)
class _Renamed:
    """What the user has given another name, in the text before the edit.

    `names` has the places of the old name, and `new_names` those that had the new name already. The thing has the
    `owner`, and `group` are all its places: the user has changed the `edited` ones, some of which may be `defining`.
    `only_use` says that the user has changed the only place where a local variable is read.
    """

    names: Names
    new_names: Names
    owner: Owner
    group: Sequence[Occurrence]
    edited: Sequence[Occurrence]
    defining: Sequence[Occurrence]
    only_use: bool

    @property
    def imported(self) -> bool:
        """Whether the name comes from another file."""
        return any(one.kind in FOREIGN for one in self.group)


def _proposals(edit: ParsedEdit, renaming: Renaming) -> Iterator[Proposal]:
    """Yield what follows from one new name.

    The definition and all uses follow if the user has changed the definition, two uses, or the only use of a local
    variable. They make a second proposal with the members of objects of unknown class, if there are some. Two uses that
    now have the name of a built-in, or no longer have that of an import, leave the definition alone: only the other
    uses follow.
    """
    renamed = _renamed(edit, renaming)
    if renamed is None or not _is_certain(renamed):
        return
    to_builtin = not renamed.defining and _is_builtin(renamed)
    if not to_builtin and is_taken(renamed.new_names, renamed.names, renamed.owner):
        return
    if to_builtin or (not renamed.defining and renamed.imported):
        yield from _replaced(edit, renamed, renaming, to_builtin=to_builtin)
    else:
        yield from _followed(edit, renamed, renaming)


def _renamed(edit: ParsedEdit, renaming: Renaming) -> _Renamed | None:
    """Return what was renamed; None if it was several things or a module, or if nobody knows."""
    source, names = edit.before, Names.of(edit.before, renaming.old)
    edited = [one for start in renaming.starts if (one := names.at(start)) is not None]
    owner = edited[0].owner if edited else None
    if owner is None or names.opaque or any(one.owner != owner for one in edited):
        return None
    if any(one.kind in MODULES for one in edited) and not renaming.rewritten:
        return None  # another module
    group, new_names = names.owned(owner), Names.of(source, renaming.new)
    defining = [one for one in edited if defines(one, source.syntax)]
    only_use = not defining and not new_names.all and _is_only_use(names, group, edited)
    return _Renamed(names, new_names, owner, group, edited, defining, only_use)


def _is_certain(renamed: _Renamed) -> bool:
    """Return whether the user means the thing itself, not another one at this place, and its places are all known."""
    names, owner = renamed.names, renamed.owner
    meant = renamed.defining or renamed.only_use or (len(renamed.edited) > 1 and _is_of_one_class(names, owner))
    return bool(meant) and _is_exact(names.source.syntax, names, owner, renamed.group)


def _followed(edit: ParsedEdit, renamed: _Renamed, renaming: Renaming) -> Iterator[Proposal]:
    """Yield the other places of a renamed thing; then these and the members of objects of unknown class."""
    source, names, group = edit.before, renamed.names, renamed.group
    changed = renamed.defining or renamed.edited
    meant = meant_by(source, group, changed, [one for one in group if defines(one, source.syntax)])
    if meant is None:
        return
    whole = len(meant.occurrences) == len(group)
    owners = linked(names, renamed.new_names, renamed.owner) if whole else {renamed.owner}
    confidence = _confidence(source, group, changed, source.syntax) * meant.certain
    confidence *= ONLY_USE if renamed.only_use else 1
    if not owners or not confidence:
        return
    linked_places = [one for one in names.all if not owners.isdisjoint((one.owner, one.also))] if whole else []
    places = dict.fromkeys((*meant.occurrences, *linked_places))
    follow = [one for one in places if one.start not in renaming.starts]
    declared = renamed.defining or [one for one in meant.occurrences if defines(one, source.syntax)]
    follow += _keywords(source, names, declared)
    if any(one.kind in UNNAMED for one in follow) or _is_named_elsewhere(names, declared, follow):
        return
    follow += _documented(source, declared)
    write = partial(_written, source.syntax, owners, renaming)
    edits = _edits(edit, follow, write)
    is_member = whole and any(names.scopes[one.scope].is_class for one in owners)
    unknown = [one for one in names.all if is_member and one.role is Role.MEMBER and one.owner is None]
    if edits and not any(names.may_be_of(one, owner) for one in unknown for owner in owners):
        remain = f", {len(unknown)} on other objects remain{'s' * (len(unknown) == 1)}" if unknown else ""
        yield Proposal(edits, _label(edits) + remain, confidence, Kind.RENAME)
    on_all = _edits(edit, [*follow, *unknown], write)
    if len(on_all) > len(edits):
        yield Proposal(on_all, f"{_label(on_all)}, on other objects too", OTHER_OBJECTS, Kind.RENAME)


def _replaced(edit: ParsedEdit, renamed: _Renamed, renaming: Renaming, *, to_builtin: bool) -> Iterator[Proposal]:
    """Yield the other uses of a name that two uses no longer have; or the import, if there are no others."""
    uses = [one for one in renamed.group if one.start not in renaming.starts and not defines(one, edit.syntax)]
    imports = [one for one in renamed.group if defines(one, edit.syntax)]
    if not uses and not to_builtin and [one.kind for one in imports] == ["import"]:
        edits = _edits(edit, imports, lambda _: renaming.new)
        yield Proposal(edits, f"import {renaming.new} instead", IMPORT_INSTEAD, Kind.RENAME)
    elif uses:
        edits = _edits(edit, uses, lambda _: renaming.new)
        yield Proposal(edits, _label(edits).replace("rename", "replace"), REPLACED, Kind.RENAME)


def _is_only_use(names: Names, group: Sequence[Occurrence], edited: Sequence[Occurrence]) -> bool:
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


def _is_of_one_class(names: Names, owner: Owner) -> bool:
    """Return whether all members of a name in the text are of one class. Variables are certain."""
    only = all(owner in (one.owner, one.also) or one.role is Role.OTHER for one in names.all)
    return only or not names.scopes[owner.scope].is_class


def _is_builtin(renamed: _Renamed) -> bool:
    """Return whether the new name of a variable is a built-in one, which every file knows."""
    names, others = renamed.names, renamed.new_names
    builtin = others.name in names.source.syntax.builtins and not any(one.owner for one in others.all)
    return builtin and not names.scopes[renamed.owner.scope].is_class


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


def _is_named_elsewhere(names: Names, edited: Sequence[Occurrence], found: Sequence[Occurrence]) -> bool:
    """Return whether a call of an unknown function may name a parameter that every call must name."""
    nodes = (one.node.parent for one in edited)
    if not any(node is not None and node.type in names.source.syntax.keyword_parameters for node in nodes):
        return False
    arguments = names.source.syntax.last_arguments
    return any(
        one not in found
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
