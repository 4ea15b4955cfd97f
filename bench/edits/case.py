"""A case: a text, a user's edit, and the text expected after all necessary further edits."""

import ast
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bench.replay.sources import SourceFile
from infill_engine.edits.changes import make
from infill_engine.edits.types import Change, EditedText, Proposal, applied
from infill_engine.text import syntax

LONGEST = 60_000  # longest file used for cases, in characters
MOST_OCCURRENCES = 60  # of the changed text; with more, a few files would outweigh all others

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Case:
    """`expected` is the text after the edit and all its consequences; None if it has no consequences."""

    file: SourceFile
    kind: str
    before: str
    changes: tuple[Change, ...]
    expected: str | None
    language: str = "python"

    @property
    def after(self) -> str:
        """The text after the user's edit alone."""
        return make(self.before, self.changes)


@dataclass(slots=True)
class Wanted:
    """Counts the cases of one file, so that no unused case is built."""

    full: frozenset[str]  # kinds that already have enough cases
    most: int = 2  # of one kind from one file
    _made: Counter[str] = field(default_factory=Counter)

    def __call__(self, kind: str) -> bool:
        """Return whether another case of this kind is wanted."""
        return kind not in self.full and self._made[kind] < self.most

    def made(self, case: "Case") -> "Case":
        """Count a case and return it."""
        self._made[case.kind] += 1
        return case


@dataclass(frozen=True)
class Module:
    """A file with its syntax tree and the character offsets of the tree's positions."""

    file: SourceFile
    tree: ast.Module = field(repr=False)

    @classmethod
    def of(cls, file: SourceFile) -> "Module | None":
        """Parse a file. Returns None if this Python cannot parse it or it is too long."""
        if len(file.text) > LONGEST or "\r" in file.text or "\f" in file.text or "\t" in file.text:
            return None
        try:
            return cls(file, ast.parse(file.text))
        except (SyntaxError, ValueError, RecursionError):
            return None

    @property
    def text(self) -> str:
        """The file's text."""
        return self.file.text

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.text.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        return starts

    @cached_property
    def strings(self) -> list[tuple[int, int]]:
        """The spans of all strings, including f-strings."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.Constant | ast.JoinedStr))
        return [self.span(node) for node in nodes if isinstance(getattr(node, "value", ""), str)]

    def offset(self, row: int, column: int) -> int:
        """Return the character offset of a line (from 1) and a column in UTF-8 bytes."""
        start = self._starts[row - 1]
        line = self.text[start : self._starts[row] - 1]
        return start + (column if line.isascii() else len(line.encode()[:column].decode()))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return a node's start and end offsets."""
        place = node
        assert isinstance(
            place, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.alias | ast.excepthandler | ast.pattern
        )
        assert place.end_lineno is not None
        assert place.end_col_offset is not None
        return self.offset(place.lineno, place.col_offset), self.offset(place.end_lineno, place.end_col_offset)


def fresh_name(chance: random.Random, module: Module, vocabulary: Sequence[str], like: str) -> str | None:
    """Return a name in the same style as `like` that does not occur in the file."""
    for _ in range(40):
        name = chance.choice(vocabulary)
        if like[:1] == "_":
            name = "_" + name
        if like[:1].isupper():
            name = "".join(part.capitalize() for part in name.split("_"))
        if name not in module.text and name.isidentifier():
            return name
    return None


def same_program(one: str, other: str, language: str = "python") -> bool:
    """Return whether two texts are equal, in Python except for layout, comments and documentation."""
    if one == other or language != "python":
        return one == other
    try:
        return ast.dump(_undocumented(one)) == ast.dump(_undocumented(other))
    except (SyntaxError, ValueError, RecursionError):
        return False


def _undocumented(text: str) -> ast.AST:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
    return tree


def reverses(proposal: Proposal, edited: EditedText) -> bool:
    """Return whether a proposal touches the user's edit or restores the text before it."""
    growth = 0
    for change in edited.changes:
        start, end = change.start + growth, change.start + growth + len(change.new)
        growth += change.growth
        if any(edit.span.start < end and edit.span.end > start for edit in proposal.edits):
            return True
    return applied(edited.after, proposal.edits) == edited.before


def faults(text: str, language: str) -> int:
    """Return the number of syntax errors of a text."""
    tree = syntax.parse(text, language)
    return 0 if tree is None else syntax.faults(tree)
