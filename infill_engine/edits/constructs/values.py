"""Values for a new parameter or field: what the places that need one can see under its name."""

from infill_engine.edits.constructs.calls import Call
from infill_engine.edits.parsed_text import ParsedText, ancestors, enclosing
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.resolution.occurrence import Occurrence, Role

# the confidence of a proposal that passes values: every place sees one, or some do not
ADDED_KNOWN, ADDED_UNKNOWN = 0.75, 0.52


class ValuesInSight:
    """Finds a value for a new parameter at a call: a variable or member of the same name."""

    def __init__(self, source: ParsedText, name: str) -> None:
        self._source, self._name = source, name
        self._names = Names.of(source, name)

    def at(self, call: Call) -> str | None:
        """Return a variable in scope at the call, or a member of its object; None if there is neither."""
        syntax, around, in_function = self._source.syntax, list(ancestors(call.arguments)), False
        known: dict[int, list[Occurrence]] = {}
        for one in self._names.all:
            if one.owner is not None and one.role in (Role.DEFINITION, Role.MEMBER):
                known.setdefault(one.owner.scope, []).append(one)
        for node in around:
            in_function = in_function or node.type in syntax.functions
            members, variables = known.get(self._names.class_of(node), ()), known.get(node.id, ())
            variable = next((one for one in variables if self._is_before(one, call)), None)
            if variable is not None:
                return self._sigil(variable) + self._name
            if members and in_function and syntax.own_member:
                return syntax.own_member.format(name=self._name)
            if members:
                return self._name if not in_function or self._names.scopes[-node.id].kind == "open" else None
        return None

    def _is_before(self, one: Occurrence, call: Call) -> bool:
        """Return whether a variable has its value when a call is made, as far as one function tells."""
        functions = self._source.syntax.functions
        same = enclosing(one.node, functions) == enclosing(call.arguments, functions)
        return one.kind == "function" or not same or one.node.start_byte < call.arguments.start_byte

    def _sigil(self, one: Occurrence) -> str:
        before = self._source.text[one.start - 1 : one.start]
        return before if before in self._source.syntax.sigils else ""
