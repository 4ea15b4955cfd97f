"""Turn a proposal into the text that may be inserted, with an ordered chain of small rules.

A rule is `(text, request, hole) -> str | None`; None drops the text. Each rule relies on those before it, so their
order matters. Lines end in LF from `plain_line_ends` on.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from infill_engine.ranking.cleanup.already_there import other_branch, suffix_overlap
from infill_engine.ranking.cleanup.balance import balance, comment_mark
from infill_engine.ranking.cleanup.block_end import block_end
from infill_engine.ranking.cleanup.getters import getters
from infill_engine.ranking.cleanup.indentation import first_indentation, indentation
from infill_engine.ranking.cleanup.plain_text import (
    blank,
    leading_blank,
    max_lines,
    plain_line_ends,
    trailing_blank,
    undecodable,
)
from infill_engine.ranking.cleanup.repetition import conversions, neighbours, repetition
from infill_engine.ranking.cleanup.secret_values import secret_values
from infill_engine.ranking.cleanup.words import cut_words, scripts
from infill_engine.text.embedded import within_embedded
from infill_engine.types import Hole, InfillRequest, ProposedText

CleanupRule = Callable[[str, InfillRequest, Hole], str | None]

RULES: tuple[CleanupRule, ...] = (
    undecodable,
    plain_line_ends,
    leading_blank,
    max_lines,
    first_indentation,
    indentation,
    balance,
    suffix_overlap,
    other_branch,
    trailing_blank,
    block_end,
    comment_mark,
    getters,
    scripts,
    cut_words,
    secret_values,
    conversions,
    repetition,
    neighbours,
    blank,
)


# These rules drop harmless texts, which are offered to an explicit request if there is nothing else.
OF_TASTE: tuple[CleanupRule, ...] = (secret_values, conversions, repetition, neighbours)


def clean(text: str, request: InfillRequest, hole: Hole) -> str | None:
    """Return `text` as it may be inserted at the cursor; None if nothing worth inserting remains."""
    text, dropped_by = _apply_rules(text, within_embedded(request), hole)
    return text if dropped_by is None else None


def cleaned(
    proposals: Iterable[ProposedText], request: InfillRequest, hole: Hole
) -> list[tuple[ProposedText, CleanupRule | None]]:
    """Return the proposals as they would be inserted, each with the rule that dropped it, if any.

    A dropped text has passed the rules before that one.
    """
    request = within_embedded(request)
    results = ((proposal, *_apply_rules(proposal.text, request, hole)) for proposal in proposals)
    return [(replace(proposal, text=text), dropped_by) for proposal, text, dropped_by in results]


def _apply_rules(text: str, request: InfillRequest, hole: Hole) -> tuple[str, CleanupRule | None]:
    for rule in RULES:
        result = rule(text, request, hole)
        if result is None:
            return text, rule
        text = result
    return text, None
