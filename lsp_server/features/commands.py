"""workspace/executeCommand."""

from lsp_server.session import Session
from lsp_server.usage.suggestions import read_arguments


async def restart_engine(session: Session) -> None:
    """Restart the engine for all windows, for example after the supervisor gave up."""
    if session.settings.enable:
        await session.engine.start(session.resolve(session.settings.engine), anew=True)


def accepted(session: Session, *arguments: object) -> None:
    """A shown candidate was accepted. The argument is one object with the answer's uri, version and index."""
    which = read_arguments(arguments)
    if which is not None:
        session.suggestions.accepted(*which)
