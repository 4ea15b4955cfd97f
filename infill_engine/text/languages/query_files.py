"""Query files by language: `queries/<folder>/<name>.scm`, compiled at first use.

The folder is named in the language's record. A file whose first line is `; inherits: other` is read after
`queries/other/<name>.scm`.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from infill_engine.text.languages.grammars import grammar_of
from infill_engine.text.languages.record import Entry, RecordError

if TYPE_CHECKING:
    from tree_sitter import Query

FOLDER = Path(__file__).parent / "queries"

_INHERITS = re.compile(r"; inherits: (\w+)")


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
