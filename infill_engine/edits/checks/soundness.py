"""What every proposal must satisfy, whoever made it: afterwards, each name means as much as before.

A use that stays still finds a definition, and not another one. No line is removed if what stays reads what the line
defines. A new name means something, unless the user has written it. No body loses its last statement if it needs
one, and nothing comes where the language refuses it. Nothing here knows how proposals are found.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

from infill_engine.edits.changes import Shift, inserted, words_changed
from infill_engine.edits.checks.placement import misplaced
from infill_engine.edits.parsed_text import ParsedText, innermost
from infill_engine.edits.resolution.captures import Defined, defined_in
from infill_engine.edits.resolution.definitions import MOST_COMPARED
from infill_engine.edits.resolution.flow import Flow, Point
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import Occurrence, Owner, Role, defines
from infill_engine.edits.tokens import WORD
from infill_engine.edits.types import Change, Edit
from infill_engine.text.languages.record import Bodies
from infill_engine.text.languages.registry import language

_ASSIGNED = ("variable", "hoisted", "assigned", "free", "")  # kinds of definitions that later ones may replace


@dataclass(frozen=True)
class _Step:
    """The text before and after a proposal, and its changes of whole words."""

    before: ParsedText
    after: ParsedText
    changes: tuple[Change, ...]

    @cached_property
    def shift(self) -> Shift:
        return Shift(self.changes)

    @cached_property
    def spans(self) -> list[tuple[Change, int, int]]:
        """The changes, each with the span of its new text in the text after."""
        return list(inserted(self.changes))

    @cached_property
    def defined(self) -> list[tuple[list[Defined], list[Defined]]]:
        """What each change defines, before and after."""
        return [
            (_defined(self.before, one.start, one.end), _defined(self.after, start, end))
            for one, start, end in self.spans
        ]

    @cached_property
    def fresh(self) -> set[int]:
        """Where the changes define names in the text after."""
        return {one.start for _, after in self.defined for one in after}

    def stays(self, one: Occurrence) -> bool:
        """Return whether the changes leave an occurrence as it is."""
        return self.shift.span(one.start, one.end) is not None


def is_sound(
    before: ParsedText, after: ParsedText, edits: Sequence[Edit], written: Collection[str] | None = None
) -> bool:
    """Return whether each name means as much after a proposal as before it.

    `written` are the words that the user has written lately: new names that need not mean anything yet. With None, new
    names are not looked at.
    """
    changes = sorted(edit.change for edit in edits)
    step = _Step(before, after, tuple(Change(*one) for one in words_changed(before.text, changes, before.language)))
    names = {one.name for pair in step.defined for side in pair for one in side}
    return (
        not _empties_a_body(step)
        and not _misplaces(step)
        and all(_keeps_its_meaning(step, name) for name in names)
        and not any(_is_still_read(step, one) for old, new in step.defined if not new for one in old)
        and (written is None or all(_means_something(step, *word) for word in _new_words(step, written)))
    )


def _misplaces(step: _Step) -> bool:
    """Return whether something is where the language refuses it, and was not before."""
    now = misplaced(step.after, ((start, end) for _, start, end in step.spans))
    return now > 0 and now > misplaced(step.before, ((one.start, one.end) for one in step.changes))


def _empties_a_body(step: _Step) -> bool:
    """Return whether the changes remove all statements of a body that must have one."""
    source = step.before
    if language(source.language).layout.bodies is not Bodies.INDENTATION:
        return False
    gone = [one for one in step.changes if not one.new.strip() and one.end > one.start]
    spans = [(source.to_byte(one.start), source.to_byte(one.end)) for one in gone]
    for one in gone:
        text = source.text[one.start : one.end]
        start, end = one.start + len(text) - len(text.lstrip()), one.start + len(text.rstrip())
        body = innermost(source.node_at(start, end), source.nodes.bodies)
        nodes = [] if body is None else [one for one in body.named_children if one.type not in source.nodes.comments]
        inside = (any(first <= one.start_byte and one.end_byte <= last for first, last in spans) for one in nodes)
        if nodes and all(inside):
            return True
    return False


def _defined(source: ParsedText, start: int, end: int) -> list[Defined]:
    word = source.text[start:end]
    if not WORD.fullmatch(word):
        return defined_in(source, start, end)
    one = Names.of(source, word).at(start)
    return [Defined(one.kind, start, word)] if one is not None and defines(one, source.syntax) else []


def _definitions(names: Names, owner: Owner | None) -> set[int]:
    return {one.start for one in names.owned(owner) if defines(one, names.source.syntax)}


def _keeps_its_meaning(step: _Step, name: str) -> bool:
    """Return whether what stays of a name still finds a definition that it found before, or one that was made."""
    old, new = Names.of(step.before, name), Names.of(step.after, name)
    if old.opaque or new.opaque:
        return True
    definitions = cache(partial(_definitions, old))
    for one in old.all:
        place = step.shift.span(one.start, one.end)
        known = set() if place is None else definitions(one.owner)
        if place is None or not known:
            continue
        now = new.at(place[0])
        spans = (step.shift.span(start, start + len(name)) for start in known)
        kept = {span[0] for span in spans if span is not None}
        found = _definitions(new, None if now is None else now.owner)
        if found.isdisjoint(kept or step.fresh):
            return False
    return True


def _is_still_read(step: _Step, gone: Defined) -> bool:
    """Return whether something that stays reads a definition that is removed without a replacement."""
    source, names = step.before, Names.of(step.before, gone.name)
    one = names.at(gone.start)
    if one is None:
        return False
    if names.opaque:
        return True
    group = [*names.owned(one.owner), *(names.shared(one.owner) if one.owner is not None else ())]
    member = one.owner is not None and names.scopes[one.owner.scope].is_class
    loose = [each for each in names.all if member and each.role is Role.MEMBER and each.owner is None]
    defining = {each.start for each in group if defines(each, source.syntax)}
    if loose or one.kind not in _ASSIGNED or len(group) > MOST_COMPARED:
        return any(each.start not in defining and step.stays(each) for each in (*group, *loose))
    flow = Flow(source, [Point(source, each) for each in group], defining)
    return any(
        step.stays(use.one) and any(reached.one.start == one.start for reached in flow.reaching[use.one.start])
        for use in flow.uses
    )


def _new_words(step: _Step, written: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield the words that the changes insert and that the user has not written, with their places."""
    for change, start, _ in step.spans:
        known = {*written, *WORD.findall(step.before.text, change.start, change.end)}
        for found in WORD.finditer(change.new):
            if found.group() not in known:
                yield found.group(), start + found.start()


def _means_something(step: _Step, word: str, start: int) -> bool:
    """Return whether a new word is no variable, or one that has a definition or is used elsewhere without one."""
    names = Names.of(step.after, word)
    one = names.at(start)
    if one is None or names.opaque or one.role is not Role.REFERENCE or one.kind == "quoted":
        return True
    if _definitions(names, one.owner):
        return True
    before = Names.of(step.before, word)
    return any(each.role is Role.REFERENCE and not _definitions(before, each.owner) for each in before.all)
