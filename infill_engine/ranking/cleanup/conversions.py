"""A conversion to what the value is already: `.toList()` of a list, `.trim().trim()`."""

import re

from infill_engine.text.languages import language as language_named
from infill_engine.types import Hole, InfillRequest

LOOKED_AT = 300  # characters left of the cursor
_TWICE = re.compile(
    r"\.(?P<call>(?:(?i:to|as|sort|trim|strip|distinct|uniq|unique|collect|flatten|upper|lower)\w*)\(\))\s*\??\.(?P=call)"
)


def conversions(text: str, request: InfillRequest, hole: Hole) -> str | None:  # noqa: ARG001
    """Drop a text that converts the result of the call before it into the same kind."""
    left, code = request.prefix[-LOOKED_AT:], language_named(request.language).code
    for pattern in (_TWICE, code.converted):
        for found in pattern.finditer(left + text) if pattern is not None else ():
            if found.end() > len(left):
                return None
    return text
