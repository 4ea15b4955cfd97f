"""Lines as LSP defines them: they end with LF, CRLF or a lone CR, and not with a form feed or U+2028."""

import re

LINE_END = re.compile(r"\r\n|\n|\r")
_INDENT = re.compile(r"[^\S\r\n]*")
_BREAKS = re.compile(r"(?<!\n)(?=\n)")


def split(text: str) -> list[str]:
    """Return the lines of `text` without their ends; at least one."""
    return LINE_END.split(text)


def first_line(text: str) -> str:
    """Return the text before the first line end."""
    end = LINE_END.search(text)
    return text if end is None else text[: end.start()]


def last_line(text: str) -> str:
    """Return the text after the last line end."""
    return text[start_of(text, len(text)) :]


def start_of(text: str, at: int) -> int:
    """Return the start of the line that `text[:at]` ends in."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and the end of the lines that hold `text[start:end]`. Only LF ends a line here."""
    stop = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if stop < 0 else stop


def indent_of(line: str) -> str:
    """Return the leading whitespace of `line`."""
    blank = _INDENT.match(line)
    return "" if blank is None else blank.group()


def with_plain_ends(text: str) -> str:
    """Return `text` with LF line ends."""
    return LINE_END.sub("\n", text)


def with_breaks_first(text: str) -> list[str]:
    """Return the lines of a text with LF line ends, each with the line breaks before it, as tokenisers join them."""
    return _BREAKS.split(text)


def is_one_key(text: str) -> bool:
    """Return whether a text is as quick to type as to accept."""
    return len(text.strip()) < 2
