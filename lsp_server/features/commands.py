"""workspace/executeCommand."""

from lsp_server.session import Session
from lsp_server.suggestions.outcomes import read_arguments


async def restart_engine(session: Session) -> None:
    """Restart the engine for all windows, for example after the supervisor gave up."""
    if session.workspace.settings.enable:
        await session.engine.start(session.resolve(session.workspace.settings.engine), anew=True)


def accepted(session: Session, *arguments: object) -> None:
    """A shown candidate was accepted. The argument is one object with the answer's uri, version and index."""
    which = read_arguments(arguments)
    if which is not None:
        session.requests.suggestions.accepted(*which)


def dismissed(session: Session, *arguments: object) -> None:
    """The user has dismissed what a document shows. The argument is the one of `accepted`."""
    which = read_arguments(arguments)
    snapshot = None if which is None else session.workspace.documents.get(which[0])
    if snapshot is not None:
        session.requests.suggestions.dismissed(snapshot)
