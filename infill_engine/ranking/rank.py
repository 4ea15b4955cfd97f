"""From cleaned proposals to candidates: texts that parse come first, then probable ones; no text appears twice."""

from collections.abc import Sequence

from infill_engine.ranking.calibration import BUILT_IN, Calibration
from infill_engine.ranking.features import evidence
from infill_engine.ranking.syntax_check import BREAKS, brokenness
from infill_engine.types import Candidate, Hole, InfillRequest, Proposal


def rank(
    proposals: Sequence[Proposal], request: InfillRequest, hole: Hole, calibration: Calibration = BUILT_IN
) -> tuple[Candidate, ...]:
    """The distinct texts of the cleaned `proposals`, most trustworthy first; at most `request.candidates`.

    Only texts with the least `brokenness` are kept. Faults count for less in broken surroundings, because there the
    parser's error recovery adds faults of its own.
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
        for _, confidence, proposal in scored[: request.candidates]
    )
