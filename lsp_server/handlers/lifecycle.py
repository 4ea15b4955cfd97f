"""initialize, initialized, shutdown, and changes of the workspace folders."""

import asyncio
import gc
from collections.abc import Iterable
from contextlib import suppress

from lsprotocol import types

from lsp_server.client_state import ClientFeatures
from lsp_server.handlers import completion
from lsp_server.handlers.configuration import apply_options, pull_settings
from lsp_server.protocol.uris import path_of
from lsp_server.session import Session
from lsp_server.settings.schema import SECTION, section_of

LOOK_SECONDS = 2.0  # how often to check that the client still runs


def initialize(session: Session, params: types.InitializeParams) -> None:
    """Store the client's capabilities and options. Nothing starts before `initialized`."""
    client, agreed = session.client, session.protocol.workspace.position_encoding
    client.can = ClientFeatures.of(params.capabilities, str(getattr(agreed, "value", agreed)))
    client.process = params.process_id or 0
    session.reporter.shows_progress = client.can.shows_progress
    session.workspace.roots = _paths(params.workspace_folders or [types.WorkspaceFolder(params.root_uri or "", "")])
    client.first_options = options = section_of(params.initialization_options)
    client.offers_completion = completion.is_wanted(params.capabilities, options)
    if client.offers_completion:
        completion.register(session)


def initialized(session: Session, _params: types.InitializedParams) -> None:
    """Read the settings, then start the engine with the chosen model."""
    session.background.start(_begin(session))
    if session.client.process:
        session.background.start(_leave_with(session))


def did_change_workspace_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Match excluded paths inside the workspace folders that are open now."""
    removed = {path_of(folder.uri) for folder in params.event.removed}
    workspace = session.workspace
    workspace.roots = (*(root for root in workspace.roots if root not in removed), *_paths(params.event.added))


def _paths(folders: Iterable[types.WorkspaceFolder]) -> tuple[str, ...]:
    return tuple(path for path in (path_of(folder.uri) for folder in folders) if path)


async def shutdown(session: Session, *_params: object) -> None:
    """Stop the engine before confirming the shutdown."""
    await session.end()


async def _begin(session: Session) -> None:
    await apply_options(session, session.client.later_options)
    session.client.initialized = True
    if session.client.can.registers_settings:
        registration = types.Registration(
            id="infill-settings",
            method=types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            register_options=types.DidChangeConfigurationRegistrationOptions(section=SECTION),
        )
        session.background.start(_register(session, registration))
    if session.client.can.sends_settings:
        await pull_settings(session)
    else:
        await apply_options(session, session.client.later_options)
    gc.freeze()  # a full collection of what has been loaded takes 20 to 80 ms, for which an answer would wait


async def _leave_with(session: Session) -> None:
    """Detect that the client's process has ended; another process may hold stdin open."""
    import psutil

    try:
        process = psutil.Process(session.client.process)  # stores the start time too, in case the id is reused
    except (psutil.Error, ValueError, OverflowError):
        return  # the client runs elsewhere, for example outside our container
    with suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(LOOK_SECONDS)
    session.client.left.set()


async def _register(session: Session, registration: types.Registration) -> None:
    await session.protocol.send_request_async(
        types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams(registrations=[registration])
    )
