"""Whether a whole text of a data language is valid: JSON and TOML by their parsers, YAML and SQL by their grammars."""

import json
import tomllib
from collections.abc import Callable

from infill_engine.text import syntax
from infill_engine.text.languages import language as language_named

_BY_GRAMMAR = frozenset({"yaml", "sql", "jsonc"})
_PARSERS: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads}


def is_strict(language: str) -> bool:
    """Return whether the language is one in which only valid texts are of use."""
    known = language_named(language).id
    return known in _PARSERS or known in _BY_GRAMMAR


def faults_of(text: str, language: str) -> int:
    """0 for a valid text, otherwise how many faults it has as far as they are counted; 0 without a grammar."""
    known = language_named(language).id
    if known in _PARSERS:
        try:
            _PARSERS[known](text)
        except (ValueError, RecursionError):
            return 1
        return 0
    tree = syntax.parse(text, language)
    return 0 if tree is None else syntax.faults(tree)
