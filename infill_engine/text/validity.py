"""Whether a whole text in a data language is valid. Parsers check JSON and TOML, grammars YAML and SQL."""

import json
import tomllib
from collections.abc import Callable

from infill_engine.text import syntax
from infill_engine.text.languages import language as language_named

_BY_GRAMMAR = frozenset({"yaml", "sql", "jsonc"})
_PARSERS: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads}


def is_strict(language: str) -> bool:
    """Return whether only valid texts are useful in the language."""
    known = language_named(language).id
    return known in _PARSERS or known in _BY_GRAMMAR


def faults_of(text: str, language: str) -> int:
    """Return 0 for a valid text, otherwise the number of faults as far as they are counted; 0 without a grammar."""
    known = language_named(language).id
    if known in _PARSERS:
        try:
            _PARSERS[known](text)
        except (ValueError, RecursionError):
            return 1
        return 0
    tree = syntax.parse(text, language)
    return 0 if tree is None else syntax.faults(tree)
