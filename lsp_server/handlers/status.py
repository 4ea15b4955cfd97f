"""infill/getStatus: the content of the last `infill/status` and further values that an editor may show."""

from lsp_server.handlers.download import missing_model
from lsp_server.session import Session


def get_status(session: Session, _params: object = None) -> dict[str, object]:
    """Return the status; unknown values are null.

    {state, detail, fraction, model, device, reason, explanation, lastElapsedMs, budgetMs, explicitBudgetMs, candidates,
    enabled, nextEdits, eagerness, levels, workerPid, missingModel}; `eagerness` is null if `showThreshold` takes its
    place, `levels` map each eagerness to {showFrom, shown, wrong}, and `missingModel` is {file, megabytes, address,
    folder}
    """
    settings = session.workspace.settings
    return {
        **session.reporter.now(),
        "budgetMs": settings.budget_ms,
        "explicitBudgetMs": settings.budget_for(explicit=True),
        "candidates": settings.candidates,
        "enabled": settings.enable,
        "nextEdits": settings.enable and settings.next_edits,
        "eagerness": settings.eagerness.value if settings.show_threshold is None else None,
        "levels": {
            name.value: {"showFrom": level.show_from, "shown": level.shown, "wrong": level.wrong}
            for name, level in session.engine.status.levels.items()
        },
        "workerPid": session.engine.process.pid,
        "missingModel": missing_model(session),
    }
