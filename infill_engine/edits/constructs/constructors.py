"""Constructors and their statements that store a parameter in a field."""

import re
from dataclasses import dataclass

from tree_sitter import Node

from infill_engine.edits.changes import Shift
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.types import Edit, Span
from infill_engine.text import lines

_SETTING = re.compile(
    r"(?P<holder>self\.|this\.|\$this->)(?P<before>[_#]*)(?P<field>[^\W\d_]\w*)"
    r"(?P<type>\s*:\s*[^=]+?)?\s*=\s*(?P<sigil>\$?)(?P<value>[^\W\d]\w*)\s*;?\s*\Z"
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A statement `self.field = parameter` of a constructor. Offsets in characters."""

    start: int
    end: int
    text: str
    field: str
    value: str
    typed: bool


def settings_of(source: ParsedText, function: Node) -> list[Setting]:
    """Return the statements of a constructor that store a name unchanged."""
    body = function.child_by_field_name("body")
    found = []
    for node in body.named_children if body is not None else ():
        if node.type != "expression_statement":
            continue
        start, end = source.span_of(node)
        text = source.text[start:end]
        match = _SETTING.match(text)
        if match is not None:
            typed = match["type"] is not None
            found.append(Setting(start, end, text, match["field"], match["value"], typed))
    return found


def is_constructor(source: ParsedText, function: Node) -> bool:
    name, known = function.child_by_field_name("name"), source.syntax.constructors
    return function.type in known or (name is not None and source.text_of(name) in known)


def line_for(model: Setting, name: str, annotation: str) -> str:
    """Return the sibling's line with the new name in it."""
    match = _SETTING.match(model.text)
    if match is None:
        return ""
    kind = f": {annotation}" if match["type"] is not None and annotation else ""
    end = ";" if model.text.rstrip().endswith(";") else ""
    return f"{match['holder']}{match['before']}{name}{kind} = {match['sigil']}{name}{end}"


def beside(source: ParsedText, model: Setting, line: str, shift: Shift, *, below: bool) -> Edit | None:
    """Return an insertion of `line` below or above a statement that is alone on its line."""
    text = source.text
    line_start, line_end = lines.around(text, model.start, model.end)
    indent = text[line_start : model.start]
    if indent.strip() or text[model.end : line_end].split("#")[0].split("//")[0].strip(" \t\r;"):
        return None
    at = (line_end - text[:line_end].endswith("\r")) if below else line_start
    place = shift.span(at, at)
    if place is None or not line:
        return None
    end = "\r\n" if text[:line_end].endswith("\r") else "\n"
    return Edit(Span(*place, ""), end + indent + line if below else indent + line + end)
