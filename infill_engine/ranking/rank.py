"""From cleaned proposals to candidates: texts that parse come first, then probable ones; no text appears twice."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from infill_engine.ranking.calibration import BUILT_IN, Calibration
from infill_engine.ranking.features import evidence
from infill_engine.ranking.syntax_check import BREAKS, brokenness, leaves_faults
from infill_engine.types import Candidate, Hole, InfillRequest, Proposal

UNSURE = 0.01  # confidence; a less sure text is not offered if it leaves a fault


def rank(
    proposals: Sequence[Proposal], request: InfillRequest, hole: Hole, calibration: Calibration = BUILT_IN
) -> tuple[Candidate, ...]:
    """Return the distinct texts of the cleaned `proposals`, most trustworthy first; at most `request.candidates`.

    Only texts with the least `brokenness` are kept. Faults count for less in broken surroundings, because there the
    parser's error recovery adds faults of its own. A text below UNSURE that leaves a fault is left out even there.
    """
    scored = [
        (found.new_faults, calibration.confidence(found), proposal)
        for proposal, found in evidence(proposals, request, hole)
    ]
    least = min((brokenness(new) for new, _, _ in scored), default=0)
    scored = [entry for entry in scored if brokenness(entry[0]) == least]
    scored.sort(
        key=lambda entry: (
            entry[0] if entry[0] >= BREAKS else 0.0,
            -entry[1],
            entry[2].partial,
            len(entry[2].text),
            entry[2].text,
        )
    )
    return tuple(
        Candidate(proposal.text, confidence, proposal.partial, proposal.steps, proposal.source)
        for _, confidence, proposal in islice(_offered(scored, request), request.candidates)
    )


def _offered(
    scored: Iterable[tuple[float, float, Proposal]], request: InfillRequest
) -> Iterator[tuple[float, float, Proposal]]:
    for new, confidence, proposal in scored:
        if confidence >= UNSURE or (new <= 0 and not leaves_faults(proposal.text, request)):
            yield new, confidence, proposal
