"""Answers from retrieved drafts alone, for the seconds in which no model is loaded. Does not import torch."""

from functools import cache
from pathlib import Path

from infill_engine.budget.deadline import now, since
from infill_engine.context.hole import hole_at
from infill_engine.ranking.calibration import Calibration
from infill_engine.ranking.rank import rank
from infill_engine.sampling.proposals import unscored_drafts
from infill_engine.types import Answer, InfillRequest, Reason

CALIBRATION = Path(__file__).parents[1] / "weights" / "drafts.json"


def answer_from_drafts(request: InfillRequest) -> Answer:
    """Return the request's drafts, cleaned and ranked; without any, the reason is that the model is being loaded.

    The confidences are fitted to drafts that no model has scored. The answer is not final: the model's is better.
    """
    began, calibration = now(), calibration_of_retrieval()
    hole = request.hole or hole_at(request.prefix, request.suffix, request.language)
    candidates, _ = rank(unscored_drafts(request.drafts or ()) or [], request, hole, calibration)
    return Answer(
        candidates,
        None if candidates else Reason.LOADING,
        elapsed_ms=since(began),
        show_from=calibration.threshold(request.show_from),
        final=False,
    )


@cache
def calibration_of_retrieval() -> Calibration:
    """Return the calibration fitted to retrieved texts that no model has scored."""
    return Calibration.from_json(CALIBRATION.read_text(encoding="utf-8"))
