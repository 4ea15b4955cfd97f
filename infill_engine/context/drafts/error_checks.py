"""The check that follows a call which may fail, where the language's habit is to write it out.

b, err := os.ReadFile(p)
if err != nil {
    return nil, err          what the function returns beside its error
}
"""

import re
from collections.abc import Iterator

from infill_engine.text import lines
from infill_engine.text.languages import language as language_named

LINES = 3  # of a check
MOST_TYPED = 12  # characters of a check that have been written
SEARCHED_LINES = 200  # above, for the head of the function
_RESULTS = re.compile(r"func\b.*\)\s*(?:\((?P<several>[^()]*(?:\([^()]*\)[^()]*)*)\)|(?P<one>[\w.*\[\]]+))\s*\{\s*\Z")
_TEST = re.compile(r"func\b.*\b(\w+) \*testing\.[TBF]\b")
_EMPTY = re.compile(r"(?:[*\[]|map\[|chan\b|func\b|interface\b)|(?:error|any)\Z")
_NUMBER = re.compile(r"(?:u?int|float|complex)\d*\Z|byte\Z|rune\Z|uintptr\Z")


def error_check(before: str, after: str, language: str) -> str:
    """Return the check that is due between two texts, or the rest of one that has been begun; "" if none is."""
    pattern = language_named(language).code.error_check
    left = lines.last_line(before)
    if pattern is None or lines.first_line(after).strip():
        return ""
    above = lines.split(before)[-SEARCHED_LINES:-1]
    call = next((line for line in reversed(above) if line.strip()), "")
    found = pattern.match(call)
    below = next((line for line in lines.split(after)[1:] if line.strip()), "")
    if found is None or re.search(rf"\b{found[1]}\b.*[!=]=|\breturn\b.*\b{found[1]}\b", below):
        return ""
    leave, indent = _leave(above, found[1]), lines.indent_of(call)
    text = f"{indent}if {found[1]} != nil {{\n{indent}\t{leave}\n{indent}}}"
    return text[len(left) :] if leave and text.startswith(left) and len(left) <= len(indent) + MOST_TYPED else ""


def _leave(above: list[str], error: str) -> str:
    """Return the statement that hands the error on, by the head of the function; "" if it returns no error."""
    head = next((line for line in reversed(above) if line.startswith("func ")), "")
    if (test := _TEST.match(head)) is not None:
        return f"{test[1]}.Fatal({error})"
    results = _RESULTS.match(head)
    types = list(_types(results["several"] or results["one"])) if results is not None else []
    if not types or types.pop() != "error":
        return ""
    return f"return {', '.join([*map(_zero, types), error])}"


def _types(results: str) -> Iterator[str]:
    """Yield the types of results, of which some may have names: `n, m int, err error`."""
    parts = [part.split() for part in results.split(",") if part.strip()]
    for number, part in enumerate(parts):
        named = any(len(other) > 1 for other in parts)
        yield part[-1] if not named or len(part) > 1 else next((one[-1] for one in parts[number:] if len(one) > 1), "")


def _zero(kind: str) -> str:
    if _EMPTY.match(kind):
        return "nil"
    if _NUMBER.match(kind):
        return "0"
    return {"string": '""', "bool": "false"}.get(kind, f"{kind}{{}}")
