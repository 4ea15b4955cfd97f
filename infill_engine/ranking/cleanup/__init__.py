"""From a proposal to the text that may be inserted: an ordered chain of small rules, one in each file.

A rule is `(text, request, hole) -> str | None`; None drops the text. Each rule relies on those before it, so their
order matters. Lines end in LF from `plain_line_ends` on.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from infill_engine.ranking.cleanup.balance import balance
from infill_engine.ranking.cleanup.blank import blank
from infill_engine.ranking.cleanup.comment_mark import comment_mark
from infill_engine.ranking.cleanup.indentation import indentation
from infill_engine.ranking.cleanup.leading_blank import leading_blank
from infill_engine.ranking.cleanup.line_ends import plain_line_ends
from infill_engine.ranking.cleanup.max_lines import max_lines
from infill_engine.ranking.cleanup.neighbours import neighbours
from infill_engine.ranking.cleanup.repetition import repetition
from infill_engine.ranking.cleanup.scripts import scripts
from infill_engine.ranking.cleanup.suffix_overlap import suffix_overlap
from infill_engine.ranking.cleanup.trailing_blank import trailing_blank
from infill_engine.ranking.cleanup.undecodable import undecodable
from infill_engine.text.embedded import within_embedded
from infill_engine.types import Hole, InfillRequest, Proposal

Rule = Callable[[str, InfillRequest, Hole], str | None]

RULES: tuple[Rule, ...] = (
    undecodable,
    plain_line_ends,
    leading_blank,
    max_lines,
    indentation,
    balance,
    suffix_overlap,
    trailing_blank,
    comment_mark,
    scripts,
    repetition,
    neighbours,
    blank,
)


def clean(text: str, request: InfillRequest, hole: Hole) -> str | None:
    """`text` as it may be inserted at the cursor, or None if nothing worth inserting remains."""
    request = within_embedded(request)
    result: str | None = text
    for rule in RULES:
        if result is None:
            return None
        result = rule(result, request, hole)
    return result


def cleaned(proposals: Iterable[Proposal], request: InfillRequest, hole: Hole) -> list[Proposal]:
    """Return the proposals in the form in which they would be inserted, without those that are empty after cleaning."""
    texts = ((proposal, clean(proposal.text, request, hole)) for proposal in proposals)
    return [replace(proposal, text=text) for proposal, text in texts if text is not None]
