"""Tree-sitter grammars, each loaded when it is first asked for.

Without its grammar a language still gets completions, but no syntax checks. `grammar_trouble` says why, for `doctor`.
"""

import importlib
from functools import cache
from typing import TYPE_CHECKING

from infill_engine.text.languages.record import Entry

if TYPE_CHECKING:
    import tree_sitter


def grammar_of(entry: Entry) -> "tree_sitter.Language | None":
    """Return the language's grammar; None if it has none or the grammar cannot be used."""
    return _loaded(entry)[0]


def grammar_trouble(entry: Entry) -> str:
    """Return in one line why the language's grammar cannot be used; "" if it can, or if there is none."""
    return _loaded(entry)[1]


@cache
def _loaded(entry: Entry) -> "tuple[tree_sitter.Language | None, str]":
    import tree_sitter

    if entry.grammar is None:
        return None, ""
    module, function = entry.grammar.module, entry.grammar.function
    wheel = module.replace("_", "-")
    try:
        return tree_sitter.Language(getattr(importlib.import_module(module), function)()), ""
    except ImportError as fault:
        return None, f"{entry.name}: {wheel} is not installed or cannot be loaded ({fault})"
    except AttributeError:
        return None, f"{entry.name}: {wheel} has no {function}; another version of it is needed"
    except ValueError as fault:  # another ABI version
        return None, f"{entry.name}: {wheel} does not fit tree-sitter {_version()} ({fault})"


def _version() -> str:
    from importlib.metadata import version

    return version("tree-sitter")
