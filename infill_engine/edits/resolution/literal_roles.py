"""What a literal is for, as the text around it tells: equal literals mean the same only in the same role.

kind === 'open'     a value of `kind`, as in `kind = 'open'` and `{ kind: 'open' }`
fs.open('open')     the first argument of `fs.open`
job['open']         a key, as in `job.get('open')` and `{ 'open': 1 }`
"""

import re

from infill_engine.edits.resolution.receivers import opening, receiver

LiteralRole = tuple[str, ...]

REACH = 600  # characters before a literal
_QUOTES = re.compile(r"""(?:\b[a-zA-Z]{1,2}|[$@]*)(?:\"{1,3}|'{1,3}|`)\Z""")
_COMPARES = re.compile(r"""["'`]*\s*(?:===?|!==?|=~|<=?|>=?)\s*(?P<name>[\w$@.]*)""")
_COMPARED = re.compile(r"(?:===?|!==?|=~|~=|<=?|(?<![=-])>=?|\b(?:in|is|not|eq|ne)|-(?:eq|ne|lt|gt))\s*\Z")
_VALUE = re.compile(r"""(?P<name>[\w$\-]+)["'`\])]*\s*(?::[^:=,(){}]*)?(?:=>|:=|\|\|=|[:=])\s*\Z""")
_TYPE = re.compile(r"(?P<name>\w+)\s*:\s*(?:\w+\.)*Literal\[[^\[\]]*\Z")
_KEY = re.compile(r"""["'`]\s*(?::(?!:)|=>|(?:not\s+)?in\b)""")
_LOOKUPS = ("get", "pop", "setdefault", "has", "fetch", "delete", "getOrDefault", "containsKey", "contains_key", "key?")
_CASE = re.compile(r"\b(?:case|when)\s*\Z")
_CHOICE = re.compile(r"\b(?:switch|match|case|select)\b\s*\(?\s*([\w$.]+)")
_BODY = re.compile(r"(?:\)|=>|\belse|\bdo|\btry|;|\A)\s*\{\Z")
_WORD = re.compile(r"[\w$]+[?!]?\Z")


def role_of(text: str, start: int, end: int) -> LiteralRole:
    """Return the role of a literal, whose content is from `start` to `end`."""
    left = _QUOTES.sub("", text[max(0, start - REACH) : start]).rstrip(" \t")
    if _CASE.search(left):
        return "value", _last(next(reversed(_CHOICE.findall(left)), ""))
    compared = _COMPARED.search(left)
    if compared is not None:
        return "value", _last(_object(left[: compared.start()]))
    compares = _COMPARES.match(text, end)
    if compares is not None:
        return "value", _last(compares["name"])
    value = _VALUE.search(left) or _TYPE.search(left)
    if value is not None:
        return "value", value["name"]
    is_key = _KEY.match(text, end) and not left.endswith("?")
    return ("key",) if is_key else _listed(left)


def _listed(left: str) -> LiteralRole:
    """Return the role of an argument or element: what is called or indexed, and the place among its siblings."""
    at, index = len(left), 0
    while at > 0 and left[at - 1] != ";" and not _BODY.search(left, 0, at):
        sign = left[at - 1]
        if sign in ")]}":
            at = opening(left, at)
            continue
        at -= 1
        index += sign == ","
        if sign in "([{":
            return _in_brackets(sign, _object(left[:at]), left[:at], index)
    word = _WORD.search(left)
    return "after", word.group() if word else left[-1:]


def _in_brackets(sign: str, listed: str, left: str, index: int) -> LiteralRole:
    name = _last(listed)
    if name == "in":
        return "value", _last(_object(left.rstrip()[:-2]))
    if (sign == "[" and listed) or (sign == "(" and name in _LOOKUPS and not index):
        return ("key",)
    return {"(": "argument", "[": "element", "{": "entry"}[sign], listed, str(index)


def _object(left: str) -> str:
    """Return what a text ends with: a name with the objects that it is reached from."""
    left = left.rstrip()
    word = _WORD.search(left)
    start = word.start() if word else opening(left, len(left)) if left[-1:] in (")", "]") else len(left)
    name = left[start:] if word else left[start : start + 1]
    around = receiver(left, start)
    return f"{around}.{name}" if around else name


def _last(name: str) -> str:
    return name.rpartition(".")[2]
