"""The object whose member a name is, as the text before it tells."""

import re

_DOT = re.compile(r"(?:\?\.|!\.|\.|->|::)\s*\Z|(?<![\s:?)]):\Z")
_LAST = re.compile(r"[\w$@]+\Z|[)\]}]\Z")
_PAIRS = {")": "(", "]": "[", "}": "{"}
MOST_LINKS = 12  # members from an object to the name
REACH = 400  # characters before a name


def receiver(text: str, start: int) -> str:
    """Return the object whose member a name is, without arguments: `expect().not` of `expect(a).not.toBe`; or ""."""
    parts: list[str] = []
    at = start
    for _ in range(MOST_LINKS):
        dot = _DOT.search(text, max(0, at - REACH), at)
        if dot is None:
            break
        at = dot.start()
        while (found := _LAST.search(text, max(0, at - REACH), at)) is not None:
            word = found.group()
            at = opening(text, at) if word in _PAIRS else found.start()
            parts.append(_PAIRS.get(word, word) + (word if word in _PAIRS else ""))
            if word not in _PAIRS:
                break
        parts.append(".")
    return "".join(reversed(parts)).lstrip(".") if at < start else ""


def opening(text: str, end: int) -> int:
    """Return where the brackets open that close right before a place."""
    depth = 0
    for at in range(end - 1, max(0, end - REACH) - 1, -1):
        depth += (text[at] in ")]}") - (text[at] in "([{")
        if not depth:
            return at
    return max(0, end - REACH)
