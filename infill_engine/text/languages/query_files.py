"""Query files by language: `queries/<id>/<name>.scm`, compiled when they are first asked for.

A file whose first line is `; inherits: other` is read after `queries/other/<name>.scm`.
"""

import re
from functools import cache
from pathlib import Path

from tree_sitter import Query, QueryError

from infill_engine.text.syntax import grammar

FOLDER = Path(__file__).parent / "queries"

# LSP language identifier -> folder of queries, where they differ
QUERY_IDS = {"javascriptreact": "javascript", "typescriptreact": "tsx"}

_INHERITS = re.compile(r"; inherits: (\w+)")


@cache
def load_query(language: str, name: str) -> Query | None:
    """The compiled query `name` of a language; None where it has no such file or no grammar.

    Raises ValueError naming the file if the query does not fit the installed grammar.
    """
    source = _read(QUERY_IDS.get(language, language), name)
    parsed_as = grammar(language)
    if not source or parsed_as is None:
        return None
    try:
        return Query(parsed_as, source)
    except QueryError as fault:
        raise ValueError(f"queries/{language}/{name}.scm does not fit the installed grammar: {fault}") from fault


def _read(query_id: str, name: str) -> str:
    path = FOLDER / query_id / f"{name}.scm"
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8")
    inherited = _INHERITS.match(text)
    return (_read(inherited.group(1), name) if inherited else "") + text
