"""The query of a language: which syntax nodes are holes, and which are prose.

@hole.argument    an operand, argument, element or condition
@hole.statement   a statement, from its first character
@hole.block       the statements of a body, or the body with its braces
@prose            comments and strings that document, in which no code is completed
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from infill_engine.text.languages.grammars import grammar_of
from infill_engine.text.languages.record import Language
from infill_engine.text.languages.table import RecordError

if TYPE_CHECKING:
    from tree_sitter import Node, Query

ARGUMENT, STATEMENT, BLOCK, PROSE = "hole.argument", "hole.statement", "hole.block", "prose"
CAPTURES = frozenset({ARGUMENT, STATEMENT, BLOCK, PROSE})
FOLDER = Path(__file__).parent / "queries"


def captures(language: Language, root: "Node") -> "dict[str, list[Node]]":
    """The nodes below `root`, in no order, by what the language's query calls them; nothing without a query.

    Raises RecordError for a query that does not fit its grammar.
    """
    from tree_sitter import QueryCursor

    query = holes_query(language)
    return {} if query is None else QueryCursor(query).captures(root)


@cache
def holes_query(language: Language) -> "Query | None":
    """The compiled query; None for a language without a grammar or a query. Raises RecordError."""
    import tree_sitter

    grammar = grammar_of(language.entry)
    if grammar is None or language.entry.grammar is None:
        return None
    name = f"{language.entry.grammar.queries}/holes.scm"
    path = FOLDER / name
    if not path.is_file():
        return None
    try:
        query = tree_sitter.Query(grammar, path.read_text("utf-8"))
    except tree_sitter.QueryError as fault:
        raise RecordError(f"{name}: does not fit the grammar ({fault}); install infill-ls again") from fault
    for number in range(query.capture_count):
        if query.capture_name(number) not in CAPTURES:
            raise RecordError(f"{name}: @{query.capture_name(number)} is unknown; correct the query")
    return query
