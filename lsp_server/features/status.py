"""infill/getStatus: what `infill/status` last said, and what an editor may want to show beside it."""

from lsp_server.session import Session


def get_status(session: Session, _params: object = None) -> dict[str, object]:
    """{state, detail, fraction, model, device, reason, lastElapsedMs, lastReason, budgetMs, candidates, enabled,
    workerPid}; what is not known is null."""
    reporter, settings = session.reporter, session.settings
    return {
        **reporter.now(),
        "lastReason": None if reporter.last_reason is None else reporter.last_reason.value,
        "budgetMs": settings.budget_ms,
        "candidates": settings.candidates,
        "enabled": settings.enable,
        "workerPid": session.engine.worker.pid,
    }
