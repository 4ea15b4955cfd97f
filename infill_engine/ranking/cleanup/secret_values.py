"""A value beside a key that looks secret: whoever writes it knows it, and nobody wants a guess on the screen."""

import re
from functools import lru_cache

from infill_engine.text import delimiters
from infill_engine.text.languages import language as language_named
from infill_engine.text.languages.record_files import GENERIC
from infill_engine.types import Hole, InfillRequest

LOOKED_AT = 400  # characters left of the cursor
LONGEST_HINT = 20  # characters of a hint that the text may complete
_WORDS = (
    r"(?i:passw(?:or)?d|passphrase|passcode|(?<![a-z])pass|pwd|secret|credentials?|identified\s+by"
    r"|(?:api|access|private|secret|signing|encryption|auth|account|master|license)[_-]?key"
    r"|(?:api|access|auth|bearer|refresh|session|bot|csrf|jwt|github|gitlab|slack|deploy|npm|personal)[_-]?token)"
    r"|TOKEN|(?<![\w-])token"
)
_KEY = rf"(?:(?<![\w.-])[\w.-]*(?:{_WORDS})s?\d*(?i:[_-](?:hash|value|base64))?(?![\w-]))"
_QUOTED_KEY = rf"""(?P<quote>["'`]){_KEY}(?P=quote)\]?"""
_TYPE = r"(?:\s*:\s*[\w.<>\[\]?&| ]+?(?=\s*=)|\s+[\w.*\[\]<>]+(?=\s*:?=))?"
_ATTRIBUTE = r"""(?:["']\s+(?:value|content|default)(?=\s*=))"""
_GIVEN = rf"(?:{_QUOTED_KEY}|[\"']{_KEY}{_ATTRIBUTE}|{_KEY}{_TYPE})\s*(?:=>|:=|[!=]==?|[:=,(]|(?<=\s)(?=[\"']))\s*"
_BOXES = r"(?:(?:new )?[\w:.]*(?i:string|secret)[\w:.]*\(\s*)?"
_REFERENCE = r"(?![$#%@]?[{(<$]|\$\w|%\w)"  # ${DB_PASSWORD}, {{ password }}, <password>, $PASSWORD
_QUOTED = re.compile(rf"""{_GIVEN}{_BOXES}(?P<value>[a-zA-Z@$]{{0,2}}(?:"|'|`){_REFERENCE}[^"'`\n]+|-?\d[\w.]*)""")
_BARE = re.compile(rf"""(?:{_GIVEN}|(?=-){_KEY}[= ]|<{_KEY}[^<>]*>){_REFERENCE}(?P<value>[^\s"'`(){{}}\[\],;<>&|]+)""")
_ADDRESS = re.compile(rf"://[\w.%+-]*:{_REFERENCE}(?P<value>[^\s@/:\"']+)@")
# Without such a key: after the name of a user, in a header, or after the option of a command.
_PLACE = re.compile(
    rf"""(?: (?i:auth(?!or(?!i))|login)\w*\s*[=(:,]\s*[(\[]?\s* (?P<quote>["'])[^"'\n]*(?P=quote)\s*,\s*["']
    | (?i:authorization)\b.{{0,20}}(?i:bearer|basic|token)\s+
    | (?i:\bjwt\b[^\n]*|\bcreateHmac)\([^()\n]*,\s*["']
    | \bname\s*[:=]\s*["']?{_KEY}["']?,?\s+["']?value["']?\s*[:=]\s*["']?
    | \b(?:mysql|mariadb)\b[^\n|;&]*\s-p["']? | \b(?:sshpass\s+-p|redis-cli\b[^\n|;&]*\s-a)\s+["']?
    | \b(?:curl|wget)\b[^\n|;&]*\s(?:-u|--user)[ =]["']?[\w.@-]+:
    ){_REFERENCE}(?P<value>[^\s"'`(){{}}\[\],;<>&|]+)""",
    re.VERBOSE,
)
# Without one of these, none of the patterns matches.
_HINT = re.compile(rf"{_WORDS}|://|(?i:auth|login|jwt|hmac)|\b(?:mysql|mariadb|sshpass|redis-cli|curl|wget)\b")
_INSIDE = re.compile(rf"{_KEY}={_REFERENCE}(?P<value>[^\s\"';&,]+)")


def secret_values(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that writes a literal value beside such a key or place. Names, calls and variables may be there."""
    left = request.prefix[-LOOKED_AT:]
    hint = _hint_in(left)
    if hint < 0 and not _HINT.search(left[-LONGEST_HINT:] + text):
        return text
    left = left[left.rfind("\n", 0, hint if hint >= 0 else len(left)) + 1 :]
    whole = left + text + request.suffix[:1]
    end = len(left) + len(text)
    for pattern, applies in (
        (_QUOTED, _in_code),
        (_BARE, _in_plain_words),
        (_ADDRESS, _anywhere),
        (_INSIDE, _in_string),
        (_PLACE, _anywhere),
    ):
        for found in pattern.finditer(whole):
            start, stop = found.span("value")
            if start < end and stop > len(left) and applies(request, text, found.start() - len(left)):
                return None
    return text


@lru_cache(maxsize=8)
def _hint_in(left: str) -> int:
    """Return the offset of the first hint, or -1."""
    found = _HINT.search(left)
    return -1 if found is None else found.start()


def _inside(request: InfillRequest, text: str, at: int) -> str:
    """Return the mark of the string or comment at an offset, counted from the cursor."""
    before = request.prefix[:at] if at < 0 else request.prefix + text[:at]
    return delimiters.scan(before, request.language).inside


def _in_code(request: InfillRequest, text: str, at: int) -> bool:
    return not delimiters.is_quote(_inside(request, text, at), request.language)


def _in_string(request: InfillRequest, text: str, at: int) -> bool:
    return not _in_code(request, text, at)


def _in_plain_words(request: InfillRequest, text: str, at: int) -> bool:  # noqa: ARG001
    known = language_named(request.language)
    return known.id == GENERIC or known.lexical.bare_strings


def _anywhere(request: InfillRequest, text: str, at: int) -> bool:  # noqa: ARG001
    return True
