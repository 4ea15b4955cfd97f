"""Code in another language within a document: a fenced block, a script, a style sheet."""

from dataclasses import dataclass, replace
from functools import lru_cache

from infill_engine.text.languages import language as language_named
from infill_engine.text.languages.record import Embedded
from infill_engine.text.languages.record_files import GENERIC
from infill_engine.types import InfillRequest


@dataclass(frozen=True, slots=True)
class EmbeddedRegion:
    """The embedded code on both sides of the cursor, and its language's LSP identifier."""

    prefix: str
    suffix: str
    language: str


@lru_cache(maxsize=16)
def region(prefix: str, suffix: str, language: str) -> EmbeddedRegion | None:
    """Return the embedded code around the cursor between two texts; None if the cursor is in the document's own
    language."""
    for form in language_named(language).embedded:
        found = _within(form, prefix, suffix)
        if found is not None:
            return found
    return None


def language_at(prefix: str, suffix: str, language: str) -> str:
    """Return the language at the cursor between two texts of a document in `language`."""
    found = region(prefix, suffix, language)
    return language if found is None else found.language


def within_embedded(request: InfillRequest) -> InfillRequest:
    """Return the request cut to the embedded code around its hole; the request itself if there is none."""
    found = region(request.prefix, request.suffix, request.language)
    if found is None:
        return request
    return replace(request, prefix=found.prefix, suffix=found.suffix, language=found.language)


def _within(form: Embedded, prefix: str, suffix: str) -> EmbeddedRegion | None:
    last = None
    for last in form.open.finditer(prefix):  # noqa: B007 - the last one is wanted
        pass
    if last is None:
        return None
    code = prefix[last.end() :]
    if form.close.search(code):
        return None
    if last.group():  # the code begins below
        _, below, code = code.partition("\n")
        if not below:
            return None
    named = last.groupdict().get("language") or form.language
    if language_named(named).id == GENERIC:
        return None
    end = form.close.search(suffix)
    return EmbeddedRegion(code, suffix if end is None else suffix[: end.start()], named.lower())
