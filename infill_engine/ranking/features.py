"""The features of each proposed text: its likelihood, its source, and its fit to the text around it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.ranking.context_features import ContextFeatures
from infill_engine.ranking.syntax_check import new_faults
from infill_engine.types import Hole, HoleKind, ProposedText, Source, Surroundings

MOST_FAULTS = 3.0  # more new faults than this make no difference
LEAST_LOGPROB = -30.0  # anything less likely counts as impossible

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Features:
    """The inputs to the confidence of a proposal. Each value grows with the quantity in its name.

    Log-probabilities are natural and not positive; `share` is the logarithm of a draft's share of the votes. Counts are
    logarithms, too: `tokens` is ln(tokens), the others are ln(1 + characters).
    """

    mean_logprob: float
    min_logprob: float
    length_logprob: float
    stability: float
    new_faults: float
    copied: float  # 1 if the text began as a copy
    matched: float  # characters left of the hole that match those left of the copied place
    analogous: float  # 1 if it began as an analogy
    alike: float  # characters left of the hole that match the analogous place once names are exchanged
    share: float
    sure: float  # its probability by the text around it alone; 0 if that does not tell
    agreement: float  # 1 if model and draft produced the same text
    tokens: float
    characters: float
    unknown: float  # the share of its names that do not occur around the hole
    equal_line: float  # 1 / distance in lines to the nearest line equal to the hole's line with the text; 0 if none
    redefines: float  # 1 if it defines something that is already defined in the same body
    partial: float
    own_draft: float  # 1 if the text began as a draft of the model's own
    draft_logprob: float  # the mean log-probability of that draft's tokens; 0 otherwise
    scored: float  # 1 if the model computed the likelihood of the text
    probability_share: float  # the text's share of the probability of all scored texts; 0 if it was not scored
    probability: float  # of the whole text; 0 if it was not scored
    logprob: float  # its logarithm; 0 if it was not scored
    inside_word: float  # 1 if the cursor is after the beginning of a word
    line: float  # 1 if the hole is of this kind; likewise the next two
    expression: float
    statement: float


def evidence(
    proposals: Sequence[ProposedText], request: Surroundings, hole: Hole
) -> list[tuple[ProposedText, Features]]:
    """Return each distinct text of the cleaned `proposals`, represented by its best proposal, with its features."""
    groups = _same_texts(proposals)
    faults = new_faults([group[0].text for group in groups], request)
    context_features = ContextFeatures.of(request.prefix, request.suffix, request.language)
    logprobs = [_logprob(group) for group in groups]
    return [
        (group[0], _features(group, new, logprob, share, hole, context_features))
        for group, new, logprob, share in zip(groups, faults, logprobs, _shares(logprobs), strict=True)
    ]


def _logprob(group: Sequence[ProposedText]) -> float | None:
    """Return the log-probability of a text that may be written in several ways, such as with blanks or with a tab.

    Equal values are of the same tokens: a retrieved text that the model has proposed, too.
    """
    ways = {proposal.logprob for proposal in group if proposal.logprob is not None}
    most = max(ways, default=None)
    return None if most is None else min(0.0, most + math.log(sum(math.exp(one - most) for one in ways)))


def _shares(logprobs: Sequence[float | None]) -> list[float | None]:
    """Return shares of the total probability, from log-probabilities; None stays None."""
    most = max((one for one in logprobs if one is not None), default=0.0)
    parts = [None if one is None else math.exp(one - most) for one in logprobs]
    whole = sum(part for part in parts if part is not None)
    return [None if part is None else part / whole for part in parts]


def _features(
    group: Sequence[ProposedText],
    faults: float,
    logprob: float | None,
    share: float | None,
    hole: Hole,
    context_features: ContextFeatures,
) -> Features:
    """Return the features of proposals with the same text, most probable first.

    `logprob` is that of the text, and `share` its share of the total probability.
    """
    best = group[0]
    sources = {proposal.source for proposal in group}
    drafts = [proposal.draft for proposal in group if proposal.draft is not None]
    copied = max((draft.copied for draft in drafts), default=0)
    analogous = max((draft.analogous for draft in drafts), default=0)
    draft_logprobs = [proposal.draft_logprob for proposal in group if proposal.draft_logprob is not None]
    return Features(
        mean_logprob=max(best.mean_logprob, -20.0),
        min_logprob=max(best.min_logprob, -20.0),
        length_logprob=max(proposal.length_logprob for proposal in group),
        stability=best.stability,
        new_faults=min(faults, MOST_FAULTS),
        copied=float(copied > 0),
        matched=math.log1p(copied),
        analogous=float(analogous > 0),
        alike=math.log1p(analogous),
        share=math.log(max((draft.share for draft in drafts), default=1.0)),
        sure=max((draft.sure for draft in drafts), default=0.0),
        agreement=float({Source.MODEL, Source.RETRIEVAL} <= sources),
        tokens=math.log(max(best.tokens, 1)),
        characters=math.log1p(len(best.text)),
        unknown=context_features.unknown(best.text),
        equal_line=context_features.equal_line(best.text),
        redefines=float(context_features.redefines(best.text)),
        partial=float(best.partial),
        own_draft=float(bool(draft_logprobs)),
        draft_logprob=max(draft_logprobs, default=0.0),
        scored=float(share is not None),
        probability_share=share or 0.0,
        probability=0.0 if logprob is None else math.exp(logprob),
        logprob=max(logprob or 0.0, LEAST_LOGPROB),
        inside_word=float(context_features.inside_word),
        line=float(hole.kind is HoleKind.LINE),
        expression=float(hole.kind is HoleKind.EXPRESSION),
        statement=float(hole.kind is HoleKind.STATEMENT),
    )


def _same_texts(proposals: Sequence[ProposedText]) -> list[list[ProposedText]]:
    """Group the proposals by text, ignoring whitespace: whole texts before partial ones, then likelier ones first."""
    groups: dict[str, list[ProposedText]] = {}
    for proposal in proposals:
        groups.setdefault(_SPACES.sub(" ", proposal.text.strip()), []).append(proposal)
    for group in groups.values():
        group.sort(key=lambda proposal: (proposal.partial, -proposal.mean_logprob, proposal.text, proposal.source))
    return list(groups.values())
