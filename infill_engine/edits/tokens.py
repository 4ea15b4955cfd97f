"""Texts as tokens: words and single signs."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from infill_engine.edits.types import Change

LONGEST = 1200  # characters of a text that is compared token by token

TOKEN = re.compile(r"\w+|[^\w\s]")
WORD = re.compile(r"\w+")
NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*\Z")

Replacements = tuple[tuple[str, ...], ...]  # by turns, the tokens that are removed and those that replace them


def token_changes(old: str, new: str, offset: int = 0) -> tuple[Change, ...]:
    """Return the changes of whole tokens that lead from one text to another; offsets begin at `offset`."""
    if max(len(old), len(new)) > LONGEST:
        return ()
    ours, theirs = list(TOKEN.finditer(old)), list(TOKEN.finditer(new))
    matcher = SequenceMatcher(None, [one.group() for one in ours], [one.group() for one in theirs], autojunk=False)
    found = []
    for tag, first, last, new_first, new_last in matcher.get_opcodes():
        if tag == "equal":
            continue
        start = ours[first - 1].end() if first else 0
        end = ours[last].start() if last < len(ours) else len(old)
        new_start = theirs[new_first - 1].end() if new_first else 0
        new_end = theirs[new_last].start() if new_last < len(theirs) else len(new)
        gone, fresh = old[start:end], new[new_start:new_end]
        most = min(len(gone), len(fresh))
        left = next((at for at in range(most) if gone[at] != fresh[at] or not gone[at].isspace()), most)
        most -= left
        right = next((at for at in range(most) if gone[-1 - at] != fresh[-1 - at] or not gone[-1 - at].isspace()), most)
        found.append(Change(offset + start + left, offset + end - right, fresh[left : len(fresh) - right]))
    return tuple(found)


def replacements(text: str, changes: Sequence[Change]) -> Replacements:
    """Return the tokens that changes of a text remove and insert."""
    return tuple(
        tokens
        for change in changes
        for tokens in (tuple(TOKEN.findall(text, change.start, change.end)), tuple(TOKEN.findall(change.new)))
    )


def replacements_of(old: str, new: str) -> Replacements:
    """Return the tokens that differ between two texts."""
    return replacements(old, token_changes(old, new))


def whole(word: str) -> re.Pattern[str]:
    """Return a pattern for a word or a literal that is no part of a longer word."""
    return re.compile(rf"(?<![\w$]){re.escape(word)}(?![\w$])")


def is_name(token: str) -> bool:
    """Return whether a token is a name of more than one character."""
    return len(token) > 1 and bool(WORD.match(token)) and not token.isdigit()


def line_pairs(old: str, new: str) -> list[tuple[str, str]]:
    """Return the lines that an edit changed, before and after, if their number is the same; otherwise all as one."""
    ours, theirs = old.splitlines(), new.splitlines()
    if len(ours) != len(theirs):
        return [(old, new)]
    return [(one, other) for one, other in zip(ours, theirs, strict=True) if one != other]
