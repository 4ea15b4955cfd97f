"""Brackets, quotes and comments by text alone: quick, without a grammar, and at home in broken code."""

import re
from dataclasses import dataclass
from functools import lru_cache

PAIRS = {"(": ")", "[": "]", "{": "}"}
QUOTES = frozenset({'"', "'", "`", '"""', "'''"})

_HASH = frozenset({"python", "shellscript", "ruby", "yaml", "toml", "perl", "r", "makefile", "dockerfile"})
_DASH = frozenset({"lua", "sql", "haskell"})
_PROSE = frozenset({"markdown", "plaintext", "html", "xml", "vue", "latex"})
_LONG_QUOTES = frozenset({"python", "java", "kotlin", "swift", "toml"})
# Here an apostrophe may be a lifetime or stand in running text.
_LONE_APOSTROPHES = frozenset({"rust", "javascriptreact", "typescriptreact"})
# A Python line that begins so cannot stand inside brackets: whatever was open before it is broken, not nested.
_PYTHON_START = (
    r"|^[ \t]*(?:def|class|return|import|while|with|try|raise|del|pass|break|continue|assert|global|nonlocal)\b"
)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a text leaves open and what it closes.

    `opened`: its brackets still open at its end, outermost first. `closed`: the closing brackets that belong to
    something before it, in order. `inside`: the quote or comment mark its end stands in, or "".
    """

    opened: str = ""
    closed: str = ""
    inside: str = ""


@lru_cache(maxsize=64)
def scan(text: str, language: str) -> Scan:
    """Read `text`, which begins in code and not in a quote or a comment."""
    marks = _marks(language)
    opened: list[str] = []
    closed: list[str] = []
    restarted = False
    position = 0
    while (found := marks.search(text, position)) is not None:
        mark, position = found.group(), found.end()
        if mark in PAIRS:
            opened.append(mark)
        elif mark in (")", "]", "}"):
            if not _close(opened, mark) and not restarted:
                closed.append(mark)
        elif mark in QUOTES or not (mark[0].isspace() or mark[0].isalpha()):
            if mark[0] == "'" and len(mark) > 1 and mark != "'''":
                continue  # a whole character literal
            position = _end_of(mark, text, position)
            if position < 0:
                return Scan("".join(opened), "".join(closed), mark)
        else:
            opened.clear()
            restarted = True
    return Scan("".join(opened), "".join(closed), "")


def unclosed(opened: str, closed: str) -> str:
    """The brackets of `opened` (outermost first) that `closed` leaves to be closed, innermost first.

    Either side may have been cut off by its window, so this looks for the best fit: all of what remains closed if
    that can be, else as much of it as is visible.
    """
    inward = opened[::-1]
    partly: str | None = None
    for count in range(len(inward)):
        rest = inward[count:]
        if not closed or any(PAIRS[left] != right for left, right in zip(rest, closed, strict=False)):
            continue
        if len(closed) >= len(rest):
            return inward[:count]
        if partly is None:
            partly = inward[:count]
    return inward if partly is None else partly


def string_end(text: str, quote: str) -> int:
    """The offset just past the `quote` that ends the string `text` begins in, or -1 if it goes on."""
    return _end_of(quote, text, 0) if quote in text else -1


def is_comment(text: str, language: str) -> bool:
    """Whether `text` has a comment as its first thing."""
    return text.lstrip().startswith(_comment_marks(language))


def is_hash_language(language: str) -> bool:
    """Whether `language` is of those without braces around bodies, by its comment mark."""
    return language in _HASH or language in _DASH


def _close(opened: list[str], mark: str) -> bool:
    """Close the innermost bracket that `mark` fits, and what broken code left open inside it."""
    for depth in range(len(opened) - 1, -1, -1):
        if PAIRS[opened[depth]] == mark:
            del opened[depth:]
            return True
    return False


def _end_of(mark: str, text: str, position: int) -> int:
    """The offset past the quote or comment `mark` that was opened before `position`; -1 if the text ends in it."""
    if mark == "/*":
        end = text.find("*/", position)
        return end + 2 if end >= 0 else -1
    end_of_mark = _ENDS[mark].match(text, position)
    if end_of_mark is None:
        return -1
    # A string of one line that its line does not end is broken there, and the code goes on below it.
    return end_of_mark.end()


_ENDS = {
    **{quote: re.compile(rf"(?:[^\\{quote}\r\n]|\\(?:\r\n|.))*+(?:{quote}|\r\n|\r|\n)", re.DOTALL) for quote in "\"'"},
    "`": re.compile(r"(?:[^\\`]|\\.)*+`", re.DOTALL),
    '"""': re.compile(r'(?:[^\\"]|\\.|"(?!""))*+"""', re.DOTALL),
    "'''": re.compile(r"(?:[^\\']|\\.|'(?!''))*+'''", re.DOTALL),
    **{comment: re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)") for comment in ("#", "//", "--")},
}


def _comment_marks(language: str) -> tuple[str, ...]:
    if language in _HASH:
        return ("#",)
    if language in _DASH:
        return ("--",)
    return () if language in _PROSE or language == "json" else ("//", "/*")


@lru_cache(maxsize=32)
def _marks(language: str) -> re.Pattern[str]:
    parts = [re.escape(mark) for mark in _comment_marks(language)]
    if language in _LONG_QUOTES:
        parts += ['"""', "'''"]
    if language in _LONE_APOSTROPHES:
        parts.append(r"'(?:\\[^'\r\n]+|[^\\'\r\n])'")
    quotes = '"' if language in _LONE_APOSTROPHES | _PROSE or language == "json" else "\"'"
    if language in {"javascript", "javascriptreact", "typescript", "typescriptreact", "go"}:
        quotes += "`"
    parts.append(rf"[{quotes}()\[\]{{}}]")
    return re.compile("|".join(parts) + (_PYTHON_START if language == "python" else ""), re.MULTILINE)
