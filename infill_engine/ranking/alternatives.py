"""Turn proposals into alternatives to a text that is already there.

Alternatives differ from the replaced text and from each other by more than white space, and break no syntax that the
replaced text left intact. Those that repair it come first, then those that make the code likelier.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from infill_engine.ranking.calibration import BUILT_IN, Calibration
from infill_engine.ranking.cleanup.plain_text import undecodable
from infill_engine.ranking.cleanup.repetition import repetition
from infill_engine.ranking.features import evidence
from infill_engine.ranking.syntax_check import new_faults
from infill_engine.text.languages import language as language_named
from infill_engine.text.lines import first_line, indent_of, last_line, split, with_plain_ends
from infill_engine.types import AlternativesRequest, Candidate, Hole, ProposedText

LEAST_GAIN = -1.5  # nats per token; a less likely text is seldom what anyone would write here
_NAME = re.compile(r"[^\W\d][\w$]*")
_SPACES = re.compile(r"\s+")


def alternatives(
    proposals: Sequence[ProposedText], request: AlternativesRequest, hole: Hole, calibration: Calibration = BUILT_IN
) -> tuple[Candidate, ...]:
    """Return at most `request.candidates` alternatives, best first.

    A candidate's gain is the difference of the log-probabilities of its text and of the replaced text, divided by the
    number of tokens of the longer one. The log-probability of a text includes that of its end.
    """
    replaced = with_plain_ends(request.holes.text)
    original = next((one for one in proposals if one.text == replaced), None)
    different = [
        one
        for one in proposals
        if not one.partial
        and _bare(one.text) != _bare(replaced)
        and _is_text(one.text, request, hole)
        and _keeps_names(one, request)
        and not (_opens_body(one.text, request) and not _opens_body(replaced, request) and not _has_body(request))
    ]
    found = evidence(different, request, hole)
    texts = [proposal.text for proposal, _ in found]
    least, *faults = new_faults([replaced, *texts], request)
    scored = []
    for (proposal, features), new in zip(found, faults, strict=True):
        gain = _gain(proposal, original)
        if new <= least and (gain is None or gain >= LEAST_GAIN or new < least):
            confidence = calibration.confidence(features)
            candidate = Candidate(proposal.text, confidence, False, proposal.passes, proposal.source)
            scored.append((new, replace(candidate, fills=proposal.fills, gain=gain)))
    scored.sort(key=lambda one: (one[0], -(one[1].gain or 0.0), -one[1].confidence, one[1].text))
    return tuple(candidate for _, candidate in scored[: request.candidates])


def _gain(proposal: ProposedText, original: ProposedText | None) -> float | None:
    if original is None or proposal.logprob is None or original.logprob is None:
        return None
    return (proposal.logprob - original.logprob) / max(proposal.tokens, original.tokens, 1)


def _is_text(text: str, request: AlternativesRequest, hole: Hole) -> bool:
    return bool(text.strip()) and undecodable(text, request, hole) == text and repetition(text, request, hole) == text


def _opens_body(text: str, request: AlternativesRequest) -> bool:
    """Return whether a body must follow the text. Some grammars accept a text without it."""
    opens = language_named(request.language).layout.opens
    return not first_line(request.suffix).strip() and opens.search(last_line(text).rstrip()) is not None


def _has_body(request: AlternativesRequest) -> bool:
    """Return whether the line below the hole's is indented further."""
    below = next((line for line in split(request.suffix)[1:] if line.strip()), "")
    return len(indent_of(below)) > len(indent_of(last_line(request.prefix)))


def _keeps_names(proposal: ProposedText, request: AlternativesRequest) -> bool:
    """Return whether a name that is in several holes is replaced by a name."""
    keywords = language_named(request.language).lexical.keywords
    return all(
        fill not in keywords and _NAME.fullmatch(fill) is not None
        for fill, gap in zip(proposal.fills[1:], request.holes.gaps, strict=False)
        if gap.repeats is not None and request.holes.replaced and _NAME.fullmatch(request.holes.replaced[gap.repeats])
    )


def _bare(text: str) -> str:
    """Return a text without the white space and trailing commas that a formatter would change."""
    return re.sub(r",([)\]}])", r"\1", _SPACES.sub("", text))
