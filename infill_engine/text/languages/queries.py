"""The queries of a language: `queries/<folder>/<name>.scm`, compiled at first use.

The folder is named in the language's record. A file whose first line is `; inherits: other` is read after
`queries/other/<name>.scm`. `locals.scm` says what names mean, and `holes.scm` which syntax nodes are holes or prose:

@hole.argument    an operand, argument, element or condition
@hole.statement   a statement, from its first character
@hole.block       the statements of a body, or the body with its braces
@prose            comments and docstrings, in which no holes are drawn
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from infill_engine.text.languages.grammars import grammar_of
from infill_engine.text.languages.record import Entry, Language, RecordError

if TYPE_CHECKING:
    from tree_sitter import Node, Query

FOLDER = Path(__file__).parent / "queries"
ARGUMENT, STATEMENT, BLOCK, PROSE = "hole.argument", "hole.statement", "hole.block", "prose"
CAPTURES = frozenset({ARGUMENT, STATEMENT, BLOCK, PROSE})

_INHERITS = re.compile(r"; inherits: (\w+)")


def captures(language: Language, root: "Node", rows: tuple[int, int] | None = None) -> "dict[str, list[Node]]":
    """Return the nodes below `root` by their capture in the language's query, unordered; nothing without a query.

    `rows` are the first row to search and the row after the last. Raises RecordError if the query does not fit its
    grammar.
    """
    from tree_sitter import QueryCursor

    query = holes_query(language)
    if query is None:
        return {}
    cursor = QueryCursor(query)
    if rows is not None:
        cursor.set_point_range((rows[0], 0), (rows[1], 0))
    return cursor.captures(root)


@cache
def holes_query(language: Language) -> "Query | None":
    """Return the compiled query; None for a language without a grammar or a query. Raises RecordError."""
    query = load_query(language, "holes")
    for number in range(0 if query is None else query.capture_count):
        if query is not None and query.capture_name(number) not in CAPTURES:
            raise RecordError(f"{language.id}: @{query.capture_name(number)} is unknown; correct holes.scm")
    return query


@cache
def load_query(entry: Entry, name: str) -> "Query | None":
    """Return the compiled query `name` of a language; None if it has no such file or no grammar.

    Raises RecordError naming the file if the query does not fit the installed grammar.
    """
    import tree_sitter

    grammar = grammar_of(entry)
    if grammar is None or entry.grammar is None:
        return None
    source = _read(entry.grammar.queries, name)
    if not source:
        return None
    try:
        return tree_sitter.Query(grammar, source)
    except tree_sitter.QueryError as fault:
        file = f"{entry.grammar.queries}/{name}.scm"
        raise RecordError(f"{file}: does not fit the grammar ({fault}); install infill-ls again") from fault


def _read(folder: str, name: str) -> str:
    path = FOLDER / folder / f"{name}.scm"
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8")
    inherited = _INHERITS.match(text)
    return (_read(inherited.group(1), name) if inherited else "") + text
