"""Constructors and their statements that store a parameter in a field."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.changes import Shift
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import Edit
from infill_engine.text import lines

_SETTING = re.compile(
    r"(?P<holder>self\.|this\.|\$this->)(?P<before>[_#]*)(?P<field>[^\W\d_]\w*)"
    r"(?P<type>\s*:\s*[^=]+?)?\s*=\s*(?P<sigil>\$?)(?P<value>[^\W\d]\w*)\s*(?P<close>;?)\s*\Z"
)


@dataclass(frozen=True, slots=True)
class FieldAssignment:
    """A statement `self.field = parameter` of a constructor. Offsets in characters."""

    start: int
    end: int
    match: re.Match[str]

    @property
    def field(self) -> str:
        """The field without the object and what precedes its name."""
        return self.match["field"]

    @property
    def value(self) -> str:
        """The name that is stored."""
        return self.match["value"]

    def like(self, name: str, annotation: str = "") -> str:
        """Return the statement with another name in it."""
        one = self.match
        kind = f": {annotation}" if one["type"] is not None and annotation else ""
        return f"{one['holder']}{one['before']}{name}{kind} = {one['sigil']}{name}{one['close']}"


def field_assignments(source: ParsedText, function: Node) -> list[FieldAssignment]:
    """Return the statements of a constructor that store a name unchanged."""
    body = function.child_by_field_name("body")
    nodes = () if body is None else body.named_children
    spans = (source.span_of(node) for node in nodes if node.type == "expression_statement")
    found = ((start, end, _SETTING.match(source.text[start:end])) for start, end in spans)
    return [FieldAssignment(start, end, match) for start, end, match in found if match is not None]


def is_constructor(source: ParsedText, function: Node) -> bool:
    """Return whether a function makes the objects of its class."""
    return not source.syntax.constructors.isdisjoint((function.type, source.name_of(function)))


def beside(source: ParsedText, model: FieldAssignment, line: str, shift: Shift, *, below: bool) -> Edit | None:
    """Return an insertion of `line` below or above a statement that is alone on its line."""
    text = source.text
    line_start, line_end = lines.around(text, model.start, model.end)
    indent = text[line_start : model.start]
    if indent.strip() or text[model.end : line_end].split("#")[0].split("//")[0].strip(" \t\r;"):
        return None
    windows = text[:line_end].endswith("\r")
    at, end = line_end - windows if below else line_start, "\r\n" if windows else "\n"
    return source.replacing(shift, at, at, end + indent + line if below else indent + line + end)
