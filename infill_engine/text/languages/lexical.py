"""The table `[lexical]` of a record: how comments, strings and words are written."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated

from msgspec import Meta, Struct

from infill_engine.text.languages.forms import Escapes, Form

Word = Annotated[str, Meta(min_length=1)]
Pattern = re.Pattern[str]


class Table(Struct, frozen=True, forbid_unknown_fields=True):
    """One table of a record."""


class LineComment(Table, frozen=True):
    """A line comment whose `mark` begins one only where `open` matches."""

    mark: Word
    open: Pattern


class BlockComment(Table, frozen=True):
    """A block comment that begins with `mark` where `open` matches. `close` may refer to a group of `open`."""

    mark: Word
    open: Pattern
    close: str


class String(Table, frozen=True):
    """A string that no single quote describes; see `Form`."""

    open: Pattern
    close: str
    escapes: Escapes = Escapes.BACKSLASH
    multiline: bool = False
    heredoc: bool = False


class Lexical(Table, frozen=True, kw_only=True, dict=True):
    """Marks, words and names.

    A line comment is a mark, a block comment the marks at its ends. A string is a quote: it has backslash escapes and,
    unless the quote has three characters, one line. With `comment_after_blank`, a line comment needs a blank before it.
    `whole` matches text that opens and closes nothing, such as a character literal or a regular expression. `restart`
    matches text that cannot be inside brackets. `word` matches a name or a number. With `bare_strings`, a word without
    quotes is a string.
    """

    line_comments: tuple[Word | LineComment, ...]
    block_comments: tuple[tuple[Word, Word] | BlockComment, ...]
    comment_after_blank: bool
    strings: tuple[Word | String, ...]
    whole: Pattern | None = None
    restart: Pattern | None = None
    word: Pattern
    keywords: frozenset[Word]
    bare_strings: bool
    parts_names: bool  # whether capitals and hyphens separate the words of a name, as in `userName` and `user-name`

    @cached_property
    def comment_marks(self) -> tuple[str, ...]:
        """What begins a line that is only a comment."""
        blocks = (each[0] if isinstance(each, tuple) else each.mark for each in self.block_comments)
        return *blocks, *(each if isinstance(each, str) else each.mark for each in self.line_comments)

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """Comments and strings, in the order in which they are tried."""
        return *self._comments(), *self._strings()

    def _comments(self) -> Iterator[Form]:
        for block in self.block_comments:
            if isinstance(block, tuple):
                yield Form.plain(*block, multiline=True, comment=True)
            else:
                yield Form(block.open, block.close, multiline=True, comment=True)
        for line in self.line_comments:
            if isinstance(line, str) and not self.comment_after_blank:
                yield Form.plain(line, "", comment=True)
                continue
            opening = re.escape(line) if isinstance(line, str) else line.open.pattern
            yield Form(re.compile(r"(?<!\S)" * self.comment_after_blank + opening), "", comment=True)

    def _strings(self) -> Iterator[Form]:
        for each in self.strings:
            if isinstance(each, str):
                yield Form.plain(each, each, Escapes.BACKSLASH, multiline=len(each) == 3)
            else:
                yield Form(each.open, each.close, each.escapes, each.multiline or each.heredoc, each.heredoc)
