"""Text to the right of the cursor is not inserted again."""

import re

from infill_engine.text import delimiters, lines
from infill_engine.text.bodies import open_bodies
from infill_engine.text.languages import Bodies
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, InfillRequest

_ELSE = re.compile(r"(?P<kept>.*?)\s*\belse\b(?P<colon>:?)\s*(?P<other>.+?)(?P<end>\s*\b(?:end|fi))?\Z", re.DOTALL)
_BRACES = re.compile(r"\A\{|\};?\Z")
_BRANCH = re.compile(r"(?P<open>.*\{\s*|)(?P<value>[^{}\n]+?)(?P<close>\s*\}|)\Z", re.DOTALL)
_UNSEEN = re.compile(r"\breturn\b|[\s;]")
_TERMINATED = re.compile(r";$|-> ", re.MULTILINE)  # Rust's functions may have no statement yet


def suffix_overlap(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Trim the end of the text that repeats the rest of the line, or the lines below the cursor."""
    text = _without_lines_below(text, request.suffix, request.language)
    right = lines.first_line(request.suffix).rstrip()
    if not right:
        return text
    body = text.rstrip()
    for candidate in (right, right.lstrip()):
        for size in range(min(len(candidate), len(body)), 0, -1):
            if body.endswith(candidate[:size]) and _may_go(body, candidate, size, request.language):
                return body[: len(body) - size]
    return text


def _may_go(text: str, right: str, size: int, language: str) -> bool:
    """Return whether the last `size` characters of `text` are whole tokens that do not close anything `text` opens."""
    kept, gone = text[: len(text) - size], text[len(text) - size :]
    if _parts_word(kept, gone) or _parts_word(gone, right[size:]):
        return False
    before, after = delimiters.scan(text, language), delimiters.scan(kept, language)
    return len(after.opened) <= len(before.opened) and after.inside == before.inside


def _parts_word(left: str, right: str) -> bool:
    return bool(left and right) and (left[-1].isalnum() or left[-1] == "_") and (right[0].isalnum() or right[0] == "_")


def _without_lines_below(text: str, suffix: str, language: str) -> str:
    """Cut before the first line from which the text equals the beginning of the lines below the cursor."""
    rows = text.split("\n")
    below = [line.strip() for line in lines.split(suffix)[1:] if line.strip()]
    if len(rows) == 1 or not below:
        return text
    for start in range(1, len(rows)):
        tail = [row.strip() for row in rows[start:] if row.strip()]
        if not tail or tail != below[: len(tail)]:
            continue
        kept = "\n".join(rows[:start])
        if _closes_itself(kept, text, language):
            return kept
    return text


def _closes_itself(kept: str, text: str, language: str) -> bool:
    """Return whether the removed part closes nothing that `kept` opens: no bracket, and no `end` or the like."""
    if open_bodies(kept, language) > open_bodies(text, language):
        return False
    return len(delimiters.scan(kept, language).opened) <= len(delimiters.scan(text, language).opened)


def other_branch(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Cut an `else` that only repeats what stands below, and let the branch before it return.

    if let Some(v) = x | { v } else { 0 }        becomes  { return v; }
    0
    """
    found, layout = _ELSE.match(text), language_named(request.language).layout
    if found is None or lines.first_line(request.suffix).strip():
        return text
    if layout.bodies is Bodies.INDENTATION and not found["colon"]:  # a conditional expression
        return text
    other = lines.split(_BRACES.sub("", found["other"].strip()).strip())
    below = [row for row in lines.split(request.suffix)[1:] if row.strip()][: len(other)]
    if not any(other) or [_UNSEEN.sub("", row) for row in other] != [_UNSEEN.sub("", row) for row in below]:
        return text
    kept, end = found["kept"], found["end"] or ""
    branch = _BRANCH.match(kept)
    if branch is None or layout.leaves.match(branch["value"].strip()):
        return kept + end
    mark = ";" if _TERMINATED.search(request.prefix) else ""
    return f"{branch['open']}return {branch['value'].strip().rstrip(';')}{mark}{branch['close']}{end}"
