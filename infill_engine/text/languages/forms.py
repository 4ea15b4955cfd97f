"""Strings and comments as they are written: how one begins, and where it ends."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

LINE_END = r"(?:\r\n|\r|\n)"
_REFERENCE = re.compile(r"\\(\d)")


class Escapes(StrEnum):
    """How a string holds its own closing quote."""

    BACKSLASH = "backslash"
    DOUBLED = "doubled"  # by writing it twice
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of string or comment.

    `open` is a pattern, and `literal` is its text if that is always the same. `close` is the closing
    mark, in which `\\1` stands for the first group of `open`. A heredoc begins on the next line, and its `close` is a
    pattern. `comment` tells a comment from a string.
    """

    open: re.Pattern[str]
    close: str
    escapes: Escapes = Escapes.NONE
    multiline: bool = False
    heredoc: bool = False
    comment: bool = False
    literal: str = ""
    _ends: dict[str, re.Pattern[str]] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def plain(
        cls, mark: str, close: str, escapes: Escapes = Escapes.NONE, *, multiline: bool = False, comment: bool = False
    ) -> "Form":
        """Return a form that one text opens."""
        return cls(re.compile(re.escape(mark)), close, escapes, multiline, comment=comment, literal=mark)

    def closing(self, opened: re.Match[str]) -> str:
        """Return the text or pattern that closes what `opened` begins."""
        groups = opened.groups()

        def fill(reference: re.Match[str]) -> str:
            text = groups[int(reference[1]) - 1] or ""
            return re.escape(text) if self.heredoc else text

        return _REFERENCE.sub(fill, self.close) if groups else self.close

    def end(self, closing: str, text: str, position: int) -> int:
        """Return the offset past the end of a string or comment opened before `position`; -1 if it does not end."""
        pattern = self._ends.get(closing)
        if pattern is None:
            pattern = self._ends[closing] = re.compile(self._end_pattern(closing), re.DOTALL | re.MULTILINE)
        found = pattern.search(text, position) if self.heredoc else pattern.match(text, position)
        return -1 if found is None else found.end()

    def _end_pattern(self, closing: str) -> str:
        """Return a pattern for the end. A one-line string without a closing mark ends with its line."""
        if self.heredoc:
            return closing
        if not closing:  # a line comment
            return rf"[^\r\n]*+{LINE_END}"
        first, rest = re.escape(closing[0]), re.escape(closing[1:])
        whole = re.escape(closing)
        breaks = "" if self.multiline else r"\r\n"
        slash = r"\\" if self.escapes is Escapes.BACKSLASH else ""
        parts = [rf"[^{slash}{first}{breaks}]"]
        if self.escapes is Escapes.BACKSLASH:
            parts.append(r"\\(?:\r\n|.)")
        if self.escapes is Escapes.DOUBLED:
            parts.append(whole + whole)
        if rest:
            parts.append(rf"{first}(?!{rest})")
        end = whole if self.multiline else rf"(?:{whole}|{LINE_END})"
        return rf"(?:{'|'.join(parts)})*+{end}"
