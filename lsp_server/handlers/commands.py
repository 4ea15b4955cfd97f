"""workspace/executeCommand."""

from lsp_server.protocol.messages import AnswerPart, read_argument
from lsp_server.session import Session


async def restart_engine(session: Session, *_arguments: object) -> None:
    """Restart the engine for all windows, for example after the supervisor gave up."""
    if session.workspace.settings.enable:
        await session.engine.start(session.resolve(session.workspace.settings.engine), anew=True)


def accepted(session: Session, *arguments: object) -> None:
    """A shown candidate was accepted."""
    part = read_argument(arguments, AnswerPart)
    if part is not None:
        session.suggestions.accepted(part.uri, part.version, part.index)


def dismissed(session: Session, *arguments: object) -> None:
    """The user has dismissed what a document shows."""
    part = read_argument(arguments, AnswerPart)
    snapshot = None if part is None else session.workspace.documents.get(part.uri)
    if snapshot is not None:
        session.suggestions.dismissed(snapshot)
