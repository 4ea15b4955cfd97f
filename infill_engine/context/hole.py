"""What is missing at the cursor, read from the syntax tree where there is one and from the text where it is broken.

Mid-line holes matter most here. Whatever stands to the right of the cursor on its line stays, so the hole ends where
it begins, and `Hole.closers` names the brackets and quotes in it that belong to something opened on the left.
"""

import re
from collections.abc import Sequence

from tree_sitter import Node, Tree

from infill_engine.text import delimiters, lines, syntax
from infill_engine.types import Hole, HoleKind

BLOCK_LINES = 6  # a suggestion longer than this is read more slowly than it is typed

_STRINGS = frozenset(
    {"string", "string_literal", "raw_string_literal", "interpreted_string_literal", "char_literal", "template_string"}
    | {"character_literal", "rune_literal", "system_lib_string"}
)
_COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
_INTERPOLATIONS = frozenset({"interpolation", "template_substitution", "string_interpolation"})
_BODIES = frozenset(
    {"block", "statement_block", "compound_statement", "class_body", "declaration_list", "field_declaration_list"}
    | {"interface_body", "enum_body", "switch_body", "switch_block", "match_block", "constructor_body", "object_type"}
    | {"enum_variant_list", "enumerator_list", "annotation_type_body", "module_body", "class_static_block"}
)
_VALUES = frozenset(
    {"object", "object_pattern", "array", "arguments", "argument_list", "literal_value", "field_initializer_list"}
    | {"initializer_list", "array_initializer", "named_imports", "export_clause", "use_list", "jsx_expression"}
    | {"import_spec_list", "struct_pattern", "dictionary", "set"}
)
_BODY_BRACE = re.compile(r"(?:\)|=>|->|\b(?:else|do|try|finally|loop|unsafe|struct|enum|union|interface|static))\s*\{$")
_BODY_HEADER = re.compile(
    r"^\s*(?:[\w@]+\s+)*?"
    r"(?:if|else|for|while|switch|match|class|interface|enum|struct|impl|trait|func|fn|function|namespace|mod|extern)\b"
)
_VALUE_BRACE = re.compile(r"(?:[=(,:\[?&|]|\breturn|\bimport|\bexport)\s*\{$")
_BODY_END = re.compile(r"(?:\}|(?:end|fi|done|esac)\b)")


def hole_at(
    prefix: str, suffix: str, language: str = "python", tree: Tree | None = None, byte_offset: int | None = None
) -> Hole:
    """The hole between `prefix`, which ends at the cursor, and `suffix`, which begins there.

    `tree` may be that of the whole document, with the cursor's UTF-8 `byte_offset` in it; without, the two windows
    are parsed. Never raises for broken code: what the tree cannot say is read from the text.
    """
    if tree is None or byte_offset is None:
        tree = syntax.parse(prefix + suffix, language)
        byte_offset = len(syntax.to_bytes(prefix))
    left, right = lines.last_line(prefix), lines.first_line(suffix)
    indent = lines.indent_of(left + right if right.strip() else left)
    inside = _inside(prefix, left, language, tree, byte_offset)
    closers = _closers(right, language, inside)
    if inside:
        return Hole(HoleKind.LINE, 1, indent, closers)
    if right.strip() and not delimiters.is_comment(right, language):
        return Hole(HoleKind.EXPRESSION, 1, indent, closers)
    if left.strip():
        return Hole(HoleKind.LINE, 1, indent, closers)
    around = [] if tree is None else _nodes_around(tree, byte_offset)
    if _among_values(prefix, language, around):
        return Hole(HoleKind.EXPRESSION, 1, indent, closers)
    if not right.strip() and _body_missing(prefix, suffix, language):
        return Hole(HoleKind.BLOCK, BLOCK_LINES, indent)
    return Hole(HoleKind.STATEMENT, 1, indent)


def _inside(prefix: str, left: str, language: str, tree: Tree | None, at: int) -> str:
    """The mark of the quote or comment that the cursor stands in, or ""."""
    if tree is None:
        return delimiters.scan(prefix, language).inside
    kind = _kind_by_tree(tree, at, left)
    if kind == "code":
        return ""
    by_line = delimiters.scan(left, language).inside
    if kind == "unsure":
        return by_line
    if kind == "comment":
        return by_line if by_line in ("#", "//", "/*") else "/*" if language not in ("python", "shellscript") else "#"
    if by_line in delimiters.QUOTES:
        return by_line
    quote = delimiters.scan(prefix, language).inside
    return quote if quote in delimiters.QUOTES else '"'


def _kind_by_tree(tree: Tree, at: int, left: str) -> str:
    """Whether the cursor stands in "code", a "string" or a "comment"; "unsure" where the tree is broken around it."""
    before = tree.root_node.descendant_for_byte_range(at - 1, at - 1) if at else None
    if before is not None and before.type in _COMMENTS and before.end_byte == at and not left.endswith("*/"):
        return "comment"
    for node in _nodes_around(tree, at):
        strictly = node.start_byte < at < node.end_byte
        if strictly and node.type in _COMMENTS:
            return "comment"
        if strictly and node.type in _STRINGS:
            return "string"
        if strictly and node.type in _INTERPOLATIONS:
            return "code"
    # Where a quote was left open, the pieces of the string hang anywhere below the nearest node with an error.
    line = tree.root_node.descendant_for_byte_range(max(at - len(syntax.to_bytes(left)), 0), at)
    return "unsure" if line is None or line.has_error else "code"


def _closers(right: str, language: str, inside: str) -> str:
    """The closing quote and brackets in `right`, the rest of the line, that close something left of the hole."""
    if inside == "/*":
        return "*/" if "*/" in right else ""
    if inside not in delimiters.QUOTES:
        return "" if inside else delimiters.scan(right, language).closed
    end = delimiters.string_end(right, inside)
    if end < 0:
        return ""
    return inside + delimiters.scan(right[end:], language).closed


def _nodes_around(tree: Tree, at: int) -> list[Node]:
    """The nodes around the byte `at`, the smallest first.

    They are gone through once from the root on, for so does a node to find its parent, each time anew, and text may be
    nested as deeply as it is long.
    """
    smallest = tree.root_node.descendant_for_byte_range(at, at)
    if smallest is None:
        return []
    around = [tree.root_node]
    while around[-1] != smallest and (child := around[-1].child_with_descendant(smallest)) is not None:
        around.append(child)
    return around[::-1]


def _among_values(prefix: str, language: str, around: Sequence[Node]) -> bool:
    """Whether a blank line stands between brackets that hold values rather than statements."""
    opened = delimiters.scan(prefix, language).opened
    if language in ("json", "jsonc"):
        return True
    if not opened:
        return False
    if opened[-1] != "{" or language == "python":
        return True
    for node in around:
        if node.is_error:
            break
        if node.type in _BODIES:
            return False
        if node.type in _VALUES:
            return True
    return not _opens_body(_opening_line(prefix, language))


def _opening_line(prefix: str, language: str) -> str:
    """The text of the line up to the brace that is open at the end of `prefix`, found from the end backwards."""
    depth = 0
    for line in reversed(lines.split(prefix)):
        read = delimiters.scan(line, language)
        if "{" in read.opened and depth == 0:
            return line.rstrip()
        depth += read.closed.count("}") - read.opened.count("{")
        depth = max(depth, 0)
    return ""


def _opens_body(line: str) -> bool:
    """Whether the brace at the end of `line` opens statements: so it does unless it looks like a value's."""
    if _BODY_BRACE.search(line) or _BODY_HEADER.match(line):
        return True
    return not _VALUE_BRACE.search(line)


def _body_missing(prefix: str, suffix: str, language: str) -> bool:
    """Whether the blank line is where the body of what stands above it should begin."""
    header = _last_code_line(prefix, language)
    if not header:
        return False
    after = next(
        (line for line in lines.split(suffix)[1:] if line.strip() and not delimiters.is_comment(line, language)), ""
    )
    header_column, after_column = _column(header), _column(after)
    has_body = bool(after) and after_column > header_column
    if header.endswith("{") or (language == "python" and header.endswith(":")):
        return not has_body
    if language != "python" and delimiters.is_hash_language(language):
        opens = header.endswith((" do", " then")) or bool(_BODY_END.match(after.strip()))
        return opens and not has_body and after_column == header_column
    return False


def _column(line: str) -> int:
    return len(lines.indent_of(line).expandtabs(8))


def _last_code_line(prefix: str, language: str) -> str:
    """The last line above the cursor that is not blank, a comment or a docstring; its trailing comment cut off."""
    above = prefix[: len(prefix) - len(lines.last_line(prefix))]
    while above:
        above = above.rstrip()
        line = lines.last_line(above)
        above_line = above[: len(above) - len(line)]
        if language == "python" and (started := _docstring_start(above)) is not None:
            above = above[:started]
        elif line.strip() and not delimiters.is_comment(line, language):
            return _without_comment(line, language).rstrip()
        else:
            above = above_line
    return ""


def _docstring_start(above: str) -> int | None:
    """Where the line begins that opens the docstring at the end of `above`; None if there is no such thing."""
    quote = above[-3:]
    if quote not in ('"""', "'''"):
        return None
    opening = above.rfind(quote, 0, len(above) - 3)
    if opening < 0:
        return None
    before = lines.last_line(above[:opening])
    return opening - len(before) if not before.strip(" \trRuU") else None


def _without_comment(line: str, language: str) -> str:
    """`line` up to its trailing comment. Only lines with a body's opening before it need to come out right."""
    for mark in (" #",) if delimiters.is_hash_language(language) else (" //", " /*"):
        code = line.partition(mark)[0].rstrip()
        if code.endswith((":", "{", "do", "then")):
            return code
    return line
