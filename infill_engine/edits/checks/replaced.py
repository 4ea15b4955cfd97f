"""Whether what the user has replaced means the same at another place, as far as the text tells.

`log.warn` became `log.error`: `log.warn` elsewhere is the same, and `panel.warn`, `warn` and `def warn` are not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from infill_engine.edits.changes import words_changed
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.resolution.literal_roles import LiteralRole, role_of
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import FOREIGN, Occurrence, Owner, Role, defines
from infill_engine.edits.resolution.receivers import receiver
from infill_engine.edits.tokens import NAME, token_changes
from infill_engine.edits.types import Change, Edit

_LITERAL = re.compile(r"""(?P<quote>["'`])(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?<!\w)\d[\w.]*""")
MOST_CHARS = 2000  # of an edit


def swaps(text: str, edits: Iterable[Edit], language: str) -> Iterator[tuple[int, str, str]]:
    """Yield the names that edits replace by other names, with their places."""
    changes = sorted(edit.change for edit in edits)
    for start, end, new in words_changed(text, changes, language):
        old = text[start:end]
        single = NAME.match(old) and NAME.match(new)
        for change in (Change(start, end, new),) if single else token_changes(old, new, start):
            name = text[change.start : change.end]
            if name != change.new and NAME.match(name) and NAME.match(change.new):
                yield change.start, name, change.new


class Replaced:
    """The names that the user has replaced lately: lines before and after each edit, the newest last."""

    def __init__(self, history: Sequence[tuple[str, str]]) -> None:
        self._at: dict[tuple[str, str], set[str]] = {}
        self.lines = {line.strip() for _, new in history for line in new.splitlines()}
        self._roles: dict[str, set[LiteralRole]] = {}  # of literals, by what they were
        for old, new in history:
            changes = token_changes(old, new) if len(old) <= MOST_CHARS else ()
            for found in _LITERAL.finditer(old) if changes else ():
                start, end = found.span("text") if found["quote"] else found.span()
                if any(start <= one.start and one.end <= end for one in changes):
                    self._roles.setdefault(old[start:end], set()).add(role_of(old, start, end))
            for change in changes:
                name = old[change.start : change.end]
                if NAME.match(name) and NAME.match(change.new):
                    self._at.setdefault((name, change.new), set()).add(receiver(old, change.start))

    def allows(self, source: ParsedText, edits: Sequence[Edit]) -> bool:
        """Return whether every name and every literal that edits replace may mean what the user replaced."""
        return all(self._has_role(source, edit) for edit in edits) and all(
            self._is_same(source, *swap) for swap in swaps(source.text, edits, source.language)
        )

    def _has_role(self, source: ParsedText, edit: Edit) -> bool:
        """Return whether a literal at a place is for what the literals that the user has replaced are for."""
        node = source.node_at(edit.span.start, edit.span.end)
        if node.type not in source.syntax.numbers and node.type not in source.syntax.string_parts:
            return True
        start, end = source.span_of(node)
        roles = self._roles.get(source.text[start:end])
        return roles is None or role_of(source.text, start, end) in roles

    def renames(self, source: ParsedText, edits: Sequence[Edit]) -> bool:
        """Return whether edits go on with what the user has renamed where it is defined."""
        return any(
            (old, new) in self._at and self._is_defined_by_user(source, new)
            for _, old, new in swaps(source.text, edits, source.language)
        )

    def _is_defined_by_user(self, source: ParsedText, name: str) -> bool:
        defined = (one for one in Names.of(source, name).all if defines(one, source.syntax))
        return any(source.line_at(one.start) in self.lines for one in defined)

    def _is_same(self, source: ParsedText, start: int, old: str, new: str) -> bool:
        names, others = Names.of(source, old), Names.of(source, new)
        one = names.at(start)
        if one is None or _is_text(source, one):
            return True
        above = one.node.parent
        function = above if above is not None and above.type in source.syntax.functions else None
        if one.role is Role.DEFINITION or (function and function.child_by_field_name("name") == one.node):
            return False  # of a function in an object without a class as well
        at = self._at.get((old, new))
        if at is not None and receiver(source.text, start) not in at:
            return False
        if not _is_defined(names, one.owner):
            elsewhere = one.role is Role.REFERENCE and any(_is_defined(others, other.owner) for other in others.all)
            return not elsewhere or self._is_known(others, one)
        if one.role is Role.REFERENCE:
            return any(each.kind in FOREIGN for each in names.owned(one.owner)) or self._is_known(others, one)
        return one.role is not Role.MEMBER or _is_defined(others, one.owner)

    def _is_known(self, others: Names, one: Occurrence) -> bool:
        """Return whether a new name is defined around a place, or is used elsewhere without a definition."""
        for other in others.all:
            defined = _is_defined(others, other.owner)
            if defined and other.owner is not None and other.owner.scope in (*one.scopes, others.source.root.id):
                return True
            elsewhere = others.source.line_at(other.start) not in self.lines
            if not defined and other.role is Role.REFERENCE and elsewhere:
                return True
        return False


def _is_text(source: ParsedText, one: Occurrence) -> bool:
    """Return whether a word is in a string or a comment."""
    types = (*source.syntax.string_parts, *source.nodes.strings, *source.nodes.comments)
    return one.role is Role.OTHER and source.node_at(one.start, one.end).type in types


def _is_defined(names: Names, owner: Owner | None) -> bool:
    return any(defines(one, names.source.syntax) for one in names.owned(owner))
