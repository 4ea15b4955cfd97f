"""Lines as LSP counts them: ended by LF, CRLF or a lone CR and by nothing else (no form feed, no U+2028)."""

import re

LINE_END = re.compile(r"\r\n|\n|\r")
_INDENT = re.compile(r"[^\S\r\n]*")


def split(text: str) -> list[str]:
    """The lines of `text` without their ends; at least one."""
    return LINE_END.split(text)


def first_line(text: str) -> str:
    """What stands before the first line end."""
    end = LINE_END.search(text)
    return text if end is None else text[: end.start()]


def last_line(text: str) -> str:
    """What stands after the last line end."""
    return text[start_of(text, len(text)) :]


def start_of(text: str, at: int) -> int:
    """Where the line begins that `text[:at]` ends in."""
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def indent_of(line: str) -> str:
    """The whitespace that `line` begins with."""
    blank = _INDENT.match(line)
    return "" if blank is None else blank.group()


def line_end_of(*texts: str) -> str:
    """The line end in use: the first one found in `texts`, taken in order, or LF."""
    for text in texts:
        end = LINE_END.search(text)
        if end is not None:
            return end.group()
    return "\n"
