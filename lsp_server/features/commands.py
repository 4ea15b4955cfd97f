"""workspace/executeCommand."""

from lsp_server.session import Session

RESTART_ENGINE = "infill.restartEngine"


async def restart_engine(session: Session) -> None:
    """Start the worker anew, for instance after it gave up."""
    if session.settings.enable:
        await session.engine.start(session.resolve(session.settings.engine))
