"""What a literal is for, as the text before it tells: equal literals mean the same only in the same role.

kind === 'open'     compared with `kind`
fs.open('open')     the first argument of `fs.open`
title: 'open'       the value of `title`
"""

import re

from infill_engine.edits.receivers import opening, receiver

Role = tuple[str, ...]

REACH = 600  # characters before a literal
_QUOTES = re.compile(r"""(?:\b[a-zA-Z]{1,2}|[$@]*)(?:\"{1,3}|'{1,3}|`)\Z""")
_NEXT = re.compile(r"""["'`]*\s*(===?|!==?|=~|<=?|>=?)\s*(?=[\w$@(])""")
_COMPARED = re.compile(r"(?:===?|!==?|=~|~=|<=?|(?<![=-])>=?|\b(?:in|is|not|eq|ne)|-(?:eq|ne|lt|gt))\s*\Z")
_VALUE = re.compile(r"""(?P<name>[\w$\-]+)["'`\])]*\s*(?::[^:=,(){}]*)?(?:=>|:=|\|\|=|[:=])\s*\Z""")
_WORD = re.compile(r"[\w$]+\Z")
_KEY = re.compile(r"""["'`]\s*(?::(?!:)|=>)""")
_CASE = re.compile(r"\b(?:case|when|of)\s*\Z")
_CHOICE = re.compile(r"\b(?:switch|match|case|select)\b\s*\(?\s*([\w$.]+)")
_BODY = re.compile(r"(?:\)|=>|\belse|\bdo|\btry|;|\A)\s*\{\Z")


def role_of(text: str, start: int, end: int) -> Role:
    """Return the role of a literal, whose content is from `start` to `end`."""
    left = text[max(0, start - REACH) : start]
    left = _QUOTES.sub("", left).rstrip(" \t")
    if _CASE.search(left):
        subjects = _CHOICE.findall(left)
        return "case", subjects[-1] if subjects else ""
    compared = _COMPARED.search(left)
    if compared is not None:
        return "compared", _object(left[: compared.start()])
    following = _NEXT.match(text, end)
    if following is not None:
        rest = re.match(r"[\w$@.]+", text[following.end() :])
        return "compared", rest.group() if rest else ""
    value = _VALUE.search(left)
    if value is not None:
        return "value", value["name"]
    return ("key",) if _KEY.match(text, end) else _listed(left)


def _listed(left: str) -> Role:
    """Return the role of an argument or element: what is called or indexed, and the place among its siblings."""
    at, index = len(left), 0
    while at > 0:
        if left[at - 1] in ")]}":
            at = opening(left, at)
        elif left[at - 1] in "([{":
            if _BODY.search(left, 0, at):
                break
            listed = _object(left[: at - 1])
            if listed.rpartition(".")[2] == "in":
                return "compared", _object(left[: at - 1].rstrip()[:-2])
            return {"(": "argument", "[": "element", "{": "entry"}[left[at - 1]], listed, str(index)
        elif left[at - 1] == ",":
            index += 1
            at -= 1
        elif left[at - 1] == ";":
            break
        else:
            at -= 1
    word = _WORD.search(left)
    return "after", word.group() if word else left[-1:]


def _object(left: str) -> str:
    """Return what a text ends with: a name with the objects that it is reached from."""
    left = left.rstrip()
    word = _WORD.search(left)
    start = word.start() if word else opening(left, len(left)) if left[-1:] in (")", "]") else len(left)
    name = left[start:] if word else left[start : start + 1]
    around = receiver(left, start)
    return f"{around}.{name}" if around else name
