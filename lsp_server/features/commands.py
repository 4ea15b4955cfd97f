"""workspace/executeCommand."""

from lsp_server.session import Session


async def restart_engine(session: Session) -> None:
    """Start the worker anew, for instance after it gave up."""
    if session.settings.enable:
        await session.engine.start(session.resolve(session.settings.engine))


def accepted(_session: Session, *_arguments: object) -> None:
    """A shown candidate was taken."""
