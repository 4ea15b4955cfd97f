"""Tree-sitter grammars by LSP language identifier, loaded when first asked for.

A language without a grammar is no error: every function answers None and its callers fall back to text.
Parsers are made anew for every call (a third of a microsecond), because one parser must not serve two threads.
"""

import importlib
from functools import cache
from pathlib import PurePath

from tree_sitter import Language, Node, Parser, Tree

# LSP language identifier -> (module of the grammar's wheel, the function that hands the grammar out)
GRAMMARS = {
    "c": ("tree_sitter_c", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "javascriptreact": ("tree_sitter_javascript", "language"),
    "json": ("tree_sitter_json", "language"),
    "jsonc": ("tree_sitter_json", "language"),
    "python": ("tree_sitter_python", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "typescriptreact": ("tree_sitter_typescript", "language_tsx"),
}

SUFFIXES = {
    ".c": "c", ".h": "c",
    ".go": "go",
    ".java": "java",
    ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
    ".json": "json", ".jsonc": "jsonc", ".code-workspace": "jsonc",
    ".py": "python", ".pyi": "python", ".pyw": "python",
    ".rs": "rust",
    ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "typescriptreact",
    # No grammar for these: filled in by text alone.
    ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp",
    ".cs": "csharp",
    ".css": "css", ".scss": "scss",
    ".html": "html", ".htm": "html", ".vue": "vue", ".xml": "xml",
    ".kt": "kotlin", ".kts": "kotlin",
    ".lua": "lua",
    ".md": "markdown",
    ".php": "php",
    ".rb": "ruby",
    ".sh": "shellscript", ".bash": "shellscript", ".zsh": "shellscript",
    ".sql": "sql",
    ".swift": "swift",
    ".toml": "toml", ".yaml": "yaml", ".yml": "yaml",
}  # fmt: skip

MOST_VISITED = 2000  # nodes; a tree more broken than this is simply "very broken"


def language_of(path: str) -> str | None:
    """The LSP language identifier that a file's suffix stands for, or None if the suffix says nothing."""
    return SUFFIXES.get(PurePath(path).suffix.lower())


def parser_for(language: str) -> Parser | None:
    """A parser of its own for the caller's thread, or None where the language has no usable grammar."""
    known = grammar(language)
    return None if known is None else Parser(known)


def parse(text: str, language: str) -> Tree | None:
    """The tree of `text`; its offsets are bytes of UTF-8. None where the language has no usable grammar."""
    parser = parser_for(language)
    return None if parser is None else parser.parse(to_bytes(text))


def to_bytes(text: str) -> bytes:
    """The UTF-8 bytes that tree offsets count; a lone surrogate, which UTF-8 cannot hold, becomes `?`."""
    return text.encode("utf-8", "replace")


def faults(tree: Tree) -> int:
    """How many ERROR and MISSING nodes the tree has. Looks only inside subtrees that have one, and not for ever."""
    if not tree.root_node.has_error:
        return 0
    found = 0
    waiting: list[Node] = [tree.root_node]
    for _ in range(MOST_VISITED):
        if not waiting:
            break
        node = waiting.pop()
        found += node.is_error or node.is_missing
        waiting.extend(child for child in node.children if child.has_error)
    return found


@cache
def grammar(language: str) -> Language | None:
    """The grammar of a language, None where there is none that can be used."""
    if language not in GRAMMARS:
        return None
    module, function = GRAMMARS[language]
    try:
        return Language(getattr(importlib.import_module(module), function)())
    except (ImportError, AttributeError, ValueError):
        # A wheel that is absent or speaks another grammar version costs the checks by tree, not the completions.
        return None
