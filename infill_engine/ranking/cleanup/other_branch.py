"""The text below the hole is the other branch of a condition that leaves: it is not written a second time.

if let Some(v) = x | { v } else { 0 }        becomes  { return v; }
0
"""

import re

from infill_engine.text import lines
from infill_engine.text.languages import Bodies
from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, InfillRequest

_ELSE = re.compile(r"(?P<kept>.*?)\s*\belse\b(?P<colon>:?)\s*(?P<other>.+?)(?P<end>\s*\b(?:end|fi))?\Z", re.DOTALL)
_BRACES = re.compile(r"\A\{|\};?\Z")
_BRANCH = re.compile(r"(?P<open>.*\{\s*|)(?P<value>[^{}\n]+?)(?P<close>\s*\}|)\Z", re.DOTALL)
_UNSEEN = re.compile(r"\breturn\b|[\s;]")
_TERMINATED = re.compile(r";$|-> ", re.MULTILINE)  # Rust's functions may have no statement yet


def other_branch(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Cut an `else` that only repeats what stands below, and let the branch before it return."""
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
