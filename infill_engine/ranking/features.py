"""What is known of each proposed text: how likely it is, where it came from, and how it fits the text around."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from infill_engine.ranking.context_features import ContextFeatures
from infill_engine.ranking.syntax_check import new_faults
from infill_engine.types import Hole, HoleKind, InfillRequest, Proposal, Source

MOST_FAULTS = 3.0  # more new faults than this make no difference
LEAST_LOGPROB = -30.0  # what is less likely than this is as good as impossible

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Features:
    """What the confidence of a proposal is computed from. Every value grows with what its name says.

    Log-probabilities are natural and not positive; `share` is the logarithm of a draft's share of the votes. Counts are
    logarithms, too: `tokens` is ln(tokens), the other ones ln(1 + characters).
    """

    mean_logprob: float
    min_logprob: float
    length_logprob: float
    stability: float
    new_faults: float
    copied: float  # 1 where the text began as a copy
    matched: float  # left of the hole and of the place it was copied from
    analogous: float  # 1 where it began as an analogy
    alike: float  # left of the hole and of the place it was carried over from
    share: float
    agreement: float  # 1 where model and draft came to the same text
    tokens: float
    characters: float
    unknown: float  # the share of its names that do not stand around the hole
    echo: float  # 1 / lines to the nearest one that says the same as the hole's line with it; 0 where none does
    redefines: float  # 1 where it defines what has been defined in the same body
    partial: float
    own_draft: float  # 1 where the text began as a draft of the model's own
    draft_logprob: float  # the mean log-probability of that draft's tokens; 0 elsewhere
    scored: float  # 1 where the model was asked how likely the text is
    probability_share: float  # the text's part of the probability of all texts that were scored; 0 elsewhere
    logprob: float  # of the whole text; 0 elsewhere
    inside_word: float  # 1 where the cursor stands behind the beginning of a word
    line: float  # 1 where the hole is of this kind
    expression: float
    statement: float


def evidence(proposals: Sequence[Proposal], request: InfillRequest, hole: Hole) -> list[tuple[Proposal, Features]]:
    """Each distinct text of `proposals`, cleaned ones, by its best proposal, with its features."""
    groups = _same_texts(proposals)
    faults = new_faults([group[0].text for group in groups], request)
    context_features = ContextFeatures.of(request.prefix, request.suffix, request.language)
    logprobs = [_logprob(group) for group in groups]
    return [
        (group[0], _features(group, new, logprob, share, hole, context_features))
        for group, new, logprob, share in zip(groups, faults, logprobs, _shares(logprobs), strict=True)
    ]


def _logprob(group: Sequence[Proposal]) -> float | None:
    return max((proposal.logprob for proposal in group if proposal.logprob is not None), default=None)


def _shares(logprobs: Sequence[float | None]) -> list[float | None]:
    """Shares of a whole from their logarithms; None stays None."""
    most = max((one for one in logprobs if one is not None), default=0.0)
    parts = [None if one is None else math.exp(one - most) for one in logprobs]
    whole = sum(part for part in parts if part is not None)
    return [None if part is None else part / whole for part in parts]


def _features(
    group: Sequence[Proposal],
    faults: float,
    logprob: float | None,
    share: float | None,
    hole: Hole,
    context_features: ContextFeatures,
) -> Features:
    """The features of proposals that came to the same text, the most probable first.

    `logprob` is that of the text, and `share` its part of the probability of all.
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
        agreement=float({Source.MODEL, Source.RETRIEVAL} <= sources),
        tokens=math.log(max(best.tokens, 1)),
        characters=math.log1p(len(best.text)),
        unknown=context_features.unknown(best.text),
        echo=context_features.echo(best.text),
        redefines=float(context_features.redefines(best.text)),
        partial=float(best.partial),
        own_draft=float(bool(draft_logprobs)),
        draft_logprob=max(draft_logprobs, default=0.0),
        scored=float(share is not None),
        probability_share=share or 0.0,
        logprob=max(logprob or 0.0, LEAST_LOGPROB),
        inside_word=float(context_features.inside_word),
        line=float(hole.kind is HoleKind.LINE),
        expression=float(hole.kind is HoleKind.EXPRESSION),
        statement=float(hole.kind is HoleKind.STATEMENT),
    )


def _same_texts(proposals: Sequence[Proposal]) -> list[list[Proposal]]:
    """The proposals by their text, blanks aside; within a group, whole texts before partial and probable ones first."""
    groups: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        groups.setdefault(_SPACES.sub(" ", proposal.text.strip()), []).append(proposal)
    for group in groups.values():
        group.sort(key=lambda proposal: (proposal.partial, -proposal.mean_logprob, proposal.text, proposal.source))
    return list(groups.values())
