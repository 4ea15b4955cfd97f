"""The pygls server and its registered handlers. It computes nothing itself."""

import asyncio
import logging
import sys
from collections.abc import Callable
from threading import Event
from typing import BinaryIO

from lsprotocol import types
from pygls.io_ import run_async
from pygls.lsp.server import LanguageServer

from infill_engine.process import reserve_stdio, write_no_core_files
from infill_engine.serving.runtime_files import package_version
from lsp_server.engine_client.link import Command, engine_command
from lsp_server.handlers import (
    code_action,
    commands,
    configuration,
    download,
    lifecycle,
    next_edit,
    notebook_sync,
    text_sync,
)
from lsp_server.handlers.candidates import candidates
from lsp_server.handlers.cursor import cursor
from lsp_server.handlers.inline_completion import inline_completion
from lsp_server.handlers.status import get_status
from lsp_server.protocol import messages
from lsp_server.protocol.stdio import MessageReader, MessageWriter
from lsp_server.protocol.wire import WireProtocol, silence_libraries
from lsp_server.session import Session

NAME = "infill-ls"
EXIT_WITHOUT_SHUTDOWN = 1  # exit status if a client leaves without `shutdown` and `exit`

log = logging.getLogger(__name__)


class InfillServer(LanguageServer):
    """The server for one client."""

    protocol: WireProtocol

    def report_server_error(self, error: Exception, source: object) -> None:  # noqa: ARG002
        """Log faults by name only: their messages may quote the user's code, and a pop-up would not help."""
        log.error("%s while handling a message", type(error).__name__)


def create_server(command: Command = engine_command) -> tuple[InfillServer, Session]:
    """Return a server with all handlers registered, and its session. `command` builds the engine's command line."""
    server = InfillServer(
        NAME,
        package_version(),
        text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        notebook_document_sync=notebook_sync.SYNC,
        protocol_cls=WireProtocol,
    )
    session = Session(server.protocol, command)
    for method, handler in _HANDLERS.items():
        server.feature(method, _OPTIONS.get(method))(session.bound(handler))
    for name, handler in _COMMANDS.items():
        server.command(name)(session.bound(handler))
    return server, session


_HANDLERS: dict[str, Callable[..., object]] = {
    types.INITIALIZE: lifecycle.initialize,
    types.INITIALIZED: lifecycle.initialized,
    types.SHUTDOWN: lifecycle.shutdown,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: lifecycle.did_change_workspace_folders,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: configuration.did_change_configuration,
    types.TEXT_DOCUMENT_DID_OPEN: text_sync.did_open,
    types.TEXT_DOCUMENT_DID_CLOSE: text_sync.did_close,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: notebook_sync.did_open,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: notebook_sync.did_close,
    messages.CURSOR: cursor,
    messages.GET_STATUS: get_status,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL: download.did_cancel_progress,
    messages.INLINE_EDIT: next_edit.inline_edit,
    messages.DID_DISMISS_NEXT_EDIT: next_edit.did_dismiss,
    types.TEXT_DOCUMENT_DID_CHANGE: text_sync.did_change,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: notebook_sync.did_change,
    types.TEXT_DOCUMENT_INLINE_COMPLETION: inline_completion,
    types.TEXT_DOCUMENT_CODE_ACTION: code_action.code_action,
    types.CODE_ACTION_RESOLVE: code_action.resolve,
    messages.CANDIDATES: candidates,
    messages.NEXT_EDIT: next_edit.next_edit,
}
# Without options, pygls does not advertise the capability of inline completion.
_OPTIONS: dict[str, object] = {
    types.TEXT_DOCUMENT_INLINE_COMPLETION: types.InlineCompletionOptions(),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(
        code_action_kinds=[code_action.REWRITE, code_action.FIX], resolve_provider=True
    ),
}
_COMMANDS: dict[str, Callable[..., object]] = {
    messages.DOWNLOAD_MODEL: download.download_model,
    messages.RESTART_ENGINE: commands.restart_engine,
    messages.ACCEPTED: commands.accepted,
    messages.DISMISSED: commands.dismissed,
    messages.ACCEPT_NEXT_EDIT: next_edit.accepted,
    messages.DISMISS_NEXT_EDIT: next_edit.dismissed,
}


def serve_stdio(command: Command = engine_command) -> int:
    """Serve one client on stdin and stdout until it leaves. Return the exit status that LSP requires.

    Threads may still be blocked on stdin or a disk, so the caller must leave with `exit_now`. Raises KeyboardInterrupt
    after the session has ended.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    silence_libraries()
    write_no_core_files()
    if sys.stdin.isatty():
        sys.stderr.write("infill-ls: waiting for an editor on stdin and stdout; see infill-ls --help\n")
    stdin, stdout = reserve_stdio()
    server, session = create_server(command)
    server.protocol.set_writer(MessageWriter(stdout, session.client.left.set))
    return asyncio.Runner().run(_serve(server, session, stdin))  # closing the runner would wait for its threads


async def _serve(server: InfillServer, session: Session, stdin: BinaryIO) -> int:
    listening = asyncio.ensure_future(_listen(server, stdin))
    leaving = asyncio.ensure_future(session.client.left.wait())
    try:
        await asyncio.wait((listening, leaving), return_when=asyncio.FIRST_COMPLETED)
        return listening.result() if listening.done() else EXIT_WITHOUT_SHUTDOWN
    finally:
        await session.end()


async def _listen(server: InfillServer, stdin: BinaryIO) -> int:
    """Handle messages until the last one. Return the exit status."""
    try:
        reader = MessageReader(stdin, server.protocol.message_arrived)
        await run_async(Event(), reader, server.protocol, log, server.report_server_error)
    except SystemExit as leave:  # pygls handles `exit` this way
        return leave.code if isinstance(leave.code, int) else EXIT_WITHOUT_SHUTDOWN
    except ValueError:  # of a length; those of messages are handled where they arise
        log.error("a message has an impossible length, so the next one cannot be found; restart the server")
    return EXIT_WITHOUT_SHUTDOWN
