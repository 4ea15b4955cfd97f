"""Turn proposals into candidates: clean them, put sound texts first and then likely ones, keep one of each idea.

Every step takes a list of texts and returns the ones it keeps. `Ranking.removed` has the others, under the step's name.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from infill_engine.ranking.calibration import BUILT_IN, Calibration
from infill_engine.ranking.cleanup import OF_TASTE, cleaned
from infill_engine.ranking.features import evidence
from infill_engine.ranking.syntax_check import BREAKS, brokenness, leaves_faults
from infill_engine.types import Candidate, Hole, InfillRequest, ProposedText, Removal

UNSURE = 0.01  # confidence below which a text with a fault is not offered
LEAST_OF_BEST = 0.02  # share of the best text's confidence below which a text is not offered
_END = re.compile(r"\s*(?:[})\]]+[;,]?|end|fi|done|esac|</[\w:-]+>)")  # what follows the first line of an empty block
_DRESS = re.compile(r"[\s\"'`()\[\]{}]|[;,]+\s*\Z")  # characters in which two texts of the same idea may differ


class Ranking(NamedTuple):
    """The candidates, best first, and the proposals that were removed on the way, in that order."""

    candidates: tuple[Candidate, ...]
    removed: tuple[Removal, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A distinct cleaned text with its confidence and the faults that it adds."""

    proposal: ProposedText
    confidence: float
    new_faults: float


RankingStep = Callable[[Sequence[Scored], InfillRequest], list[Scored]]


def rank(
    proposals: Sequence[ProposedText], request: InfillRequest, hole: Hole, calibration: Calibration = BUILT_IN
) -> Ranking:
    """Return at most `request.candidates` texts worth offering, most trustworthy first.

    If nothing is left in broken code, the parser may have blamed the texts for its faults. Those that do not clearly
    break the syntax are then offered. If nothing else is left, texts that only a rule of taste removed (`OF_TASTE`) are
    offered with a confidence of 0.
    """
    results = cleaned(proposals, request, hole)
    scored = _scored([proposal for proposal, rule in results if rule is None], request, hole, calibration)
    dropped = ((proposal, rule) for proposal, (_, rule) in zip(proposals, results, strict=True) if rule is not None)
    removed = [Removal(rule.__name__, proposal.text) for proposal, rule in dropped]
    kept, gone = _through(STEPS, scored, request)
    if not kept and (blamed := [one for one in scored if _may_be_sound(one, request)]):
        kept, _ = _through(STEPS[1:], blamed, request)
        gone = [one for one in gone if all(one.text != other.proposal.text for other in kept)]
    if not kept:
        harmless = [proposal for proposal, rule in results if rule in OF_TASTE]
        kept = [one for one in _scored(harmless, request, hole, calibration) if _is_sound(one, request)]
        kept = [Scored(one.proposal, 0.0, 0.0) for one in different(kept, request)[: request.candidates]]
    return Ranking(tuple(map(_candidate, kept)), (*removed, *gone))


def least_broken(scored: Sequence[Scored], request: InfillRequest) -> list[Scored]:  # noqa: ARG001
    """Keep the texts with the least `brokenness`.

    Faults count for less in broken code, because the parser's error recovery adds faults of its own.
    """
    least = min((brokenness(one.new_faults) for one in scored), default=0)
    return [one for one in scored if brokenness(one.new_faults) == least]


def sure_or_sound(scored: Sequence[Scored], request: InfillRequest) -> list[Scored]:
    """Drop texts below UNSURE that leave a fault, even if the code around them is broken."""
    return [one for one in scored if one.confidence >= UNSURE or _is_sound(one, request)]


def filled(scored: Sequence[Scored], request: InfillRequest) -> list[Scored]:  # noqa: ARG001
    """Drop an empty block beside one that begins with the same line and has a body, which takes its confidence."""
    kept = list(scored)
    for one in scored:
        head, _, end = one.proposal.text.partition("\n")
        full = next((each for each in kept if each is not one and each.proposal.text.startswith(f"{head}\n")), None)
        if full is not None and _END.fullmatch(end):
            kept.remove(one)
            kept[kept.index(full)] = replace(full, confidence=max(one.confidence, full.confidence))
    return sorted(kept, key=lambda one: -one.confidence)


def different(scored: Sequence[Scored], request: InfillRequest) -> list[Scored]:  # noqa: ARG001
    """Keep one text of each idea: the best of those that differ only in blanks, quotes, brackets or a last mark."""
    ideas: dict[str, Scored] = {}
    for one in scored:
        text = one.proposal.text
        ideas.setdefault(_DRESS.sub("", text) or re.sub(r"\s", "", text).replace("'", '"'), one)
    return list(ideas.values())


def near_the_best(scored: Sequence[Scored], request: InfillRequest) -> list[Scored]:  # noqa: ARG001
    """Drop texts that are far less likely than the best."""
    best = max((one.confidence for one in scored), default=0.0)
    return [one for one in scored if one.confidence >= LEAST_OF_BEST * best]


def first_few(scored: Sequence[Scored], request: InfillRequest) -> list[Scored]:
    """Keep as many texts as were asked for."""
    return list(scored[: request.candidates])


STEPS: tuple[RankingStep, ...] = (least_broken, sure_or_sound, filled, different, near_the_best, first_few)


def _scored(
    proposals: Sequence[ProposedText], request: InfillRequest, hole: Hole, calibration: Calibration
) -> list[Scored]:
    """Return the distinct texts, most trustworthy first."""
    found = [
        Scored(proposal, max(calibration.confidence(features), features.sure), features.new_faults)
        for proposal, features in evidence(proposals, request, hole)
    ]
    return sorted(
        found,
        key=lambda one: (
            one.new_faults if one.new_faults >= BREAKS else 0.0,
            -one.confidence,
            one.proposal.partial,
            len(one.proposal.text),
            one.proposal.text,
        ),
    )


def _through(
    steps: Sequence[RankingStep], scored: Sequence[Scored], request: InfillRequest
) -> tuple[Sequence[Scored], list[Removal]]:
    """Return what is left of some texts after some steps, and what is not."""
    removed: list[Removal] = []
    for step in steps:
        before, scored = scored, step(scored, request)
        texts = {one.proposal.text for one in scored}
        gone = (one for one in before if one.proposal.text not in texts)
        removed += [Removal(step.__name__, one.proposal.text, one.confidence) for one in gone]
    return scored, removed


def _may_be_sound(one: Scored, request: InfillRequest) -> bool:
    """Return whether the faults that a text adds may be those of the code around it."""
    return brokenness(one.new_faults) == 1 and leaves_faults(one.proposal.text, request)


def _is_sound(one: Scored, request: InfillRequest) -> bool:
    return one.new_faults <= 0 and not leaves_faults(one.proposal.text, request)


def _candidate(one: Scored) -> Candidate:
    proposal = one.proposal
    return Candidate(proposal.text, one.confidence, proposal.partial, proposal.passes, proposal.source)
