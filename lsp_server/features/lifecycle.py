"""initialize, initialized, shutdown, and the workspace's folders."""

from collections.abc import Mapping

from lsprotocol import types
from pygls.capabilities import get_capability

from lsp_server.features import completion
from lsp_server.features.configuration import apply_options, pull_settings, section_of
from lsp_server.session import Session
from lsp_server.settings import SECTION
from lsp_server.uris import path_of


def initialize(session: Session, params: types.InitializeParams) -> None:
    """Note what the client can do and what it wants. Nothing is started before `initialized`."""
    session.encoding = session.encoding_agreed()
    capabilities = params.capabilities
    session.reporter.shows_progress = bool(get_capability(capabilities, "window.work_done_progress"))
    session.can_pull_settings = bool(get_capability(capabilities, "workspace.configuration"))
    session.can_register_settings = bool(
        get_capability(capabilities, "workspace.did_change_configuration.dynamic_registration")
    )
    folders = [folder.uri for folder in params.workspace_folders or []] or [params.root_uri or ""]
    session.roots = tuple(path for path in map(path_of, folders) if path)
    options = params.initialization_options
    if isinstance(options, Mapping):
        options = section_of(options)
    session.first_options = options
    session.offers_completion = completion.is_wanted(capabilities, options)
    if session.offers_completion:
        completion.register(session)


def initialized(session: Session, _params: types.InitializedParams) -> None:
    """Learn the settings, then start the engine with the right model."""
    session.in_background(_begin(session))


def did_change_workspace_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Excludes are matched inside the folders."""
    removed = {path_of(folder.uri) for folder in params.event.removed}
    added = [path_of(folder.uri) for folder in params.event.added]
    session.roots = (*(root for root in session.roots if root not in removed), *added)


async def shutdown(session: Session, *_params: object) -> None:
    """End the worker before the client hears that we are done."""
    await session.end()


async def _begin(session: Session) -> None:
    await apply_options(session, session.told_options)
    session.initialized = True
    if session.can_register_settings:
        registration = types.Registration(
            id="infill-settings",
            method=types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            register_options=types.DidChangeConfigurationRegistrationOptions(section=SECTION),
        )
        session.in_background(_register(session, registration))
    if session.can_pull_settings:
        await pull_settings(session)
    else:
        await apply_options(session, session.told_options)


async def _register(session: Session, registration: types.Registration) -> None:
    await session.protocol.send_request_async(
        types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams(registrations=[registration])
    )
