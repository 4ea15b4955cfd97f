"""The query of a language: which syntax nodes are holes, and which are prose.

@hole.argument    an operand, argument, element or condition
@hole.statement   a statement, from its first character
@hole.block       the statements of a body, or the body with its braces
@prose            comments and docstrings, in which no holes are drawn
"""

from functools import cache
from typing import TYPE_CHECKING

from infill_engine.text.languages.query_files import load_query
from infill_engine.text.languages.record import Language, RecordError

if TYPE_CHECKING:
    from tree_sitter import Node, Query

ARGUMENT, STATEMENT, BLOCK, PROSE = "hole.argument", "hole.statement", "hole.block", "prose"
CAPTURES = frozenset({ARGUMENT, STATEMENT, BLOCK, PROSE})


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
