"""Settings from the initialization options, workspace/didChangeConfiguration and workspace/configuration."""

import asyncio
from collections.abc import Mapping

from lsprotocol import types

from lsp_server.project.excludes import bad_patterns
from lsp_server.project.text import ProjectTexts
from lsp_server.session import Session
from lsp_server.settings.file import over, read_file
from lsp_server.settings.schema import SECTION, SETTINGS, Fallback, read_settings, section_of

TOO_LATE = (
    "infill-ls: completionFallback cannot be switched on while the server runs. Set it in the editor's initialization "
    "options and restart the server."
)
PULL_SECONDS = 1.0  # a client slower than this does not delay the engine


def did_change_configuration(session: Session, params: types.DidChangeConfigurationParams) -> None:
    """Apply the settings that were sent. If the client only reports that something changed, request its settings."""
    told = _told(params.settings)
    if told is not None:
        session.background.start(apply_options(session, told))
    elif session.client.can.sends_settings:
        session.background.start(pull_settings(session))


async def pull_settings(session: Session) -> None:
    """Request the client's settings and apply them, unless it sends newer ones first. Meanwhile, use the known ones."""
    known = session.client.later_options
    item = types.ConfigurationItem(section=SECTION)
    reply = session.protocol.send_request_async(types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items=[item]))
    # Not wait_for, which would cancel the request; the late answer would then have no receiver.
    done, _ = await asyncio.wait((reply,), timeout=PULL_SECONDS)
    if not done:
        await apply_options(session, session.client.later_options)
        await asyncio.wait((reply,))
    if session.client.later_options is not known:
        return
    refused = reply.cancelled() or reply.exception() is not None
    await apply_options(session, session.client.later_options if refused else _first(reply.result()))


async def apply_options(session: Session, told: object) -> None:
    """Merge the client's settings over its initialization options and those over the user's file, report invalid ones,
    and update the engine.

    A setting that the client sent before and omits now was removed by the user.
    """
    session.client.later_options = told
    first = session.client.first_options
    options = {**first, **told} if isinstance(first, Mapping) and isinstance(told, Mapping) else told or first
    own, unusable = read_file()
    if unusable:
        session.reporter.warn_once(unusable)
    settings, warnings = read_settings(over(own, options))
    wrong = tuple(
        f"infill-ls: the pattern {pattern!r} in excludes is not .gitignore syntax and is ignored."
        for pattern in bad_patterns(settings.excludes)
    )
    for warning in (*warnings, *wrong):
        session.reporter.warn_once(warning)
    if settings.completion_fallback is Fallback.ALWAYS and not session.client.offers_completion:
        session.reporter.warn_once(TOO_LATE)
    workspace = session.workspace
    before, workspace.settings = workspace.settings, settings
    if settings.excludes != before.excludes:
        workspace.project = ProjectTexts()
    session.engine.takes_late = session.client.can.takes_late_answers and settings.late_answers
    if not session.client.initialized:
        return
    if not settings.enable:
        await session.engine.stop()
        session.reporter.off()
    elif not session.engine.process.running or settings.engine != before.engine:
        await session.engine.start(session.resolve(settings.engine))
    elif settings.budget_ms != before.budget_ms:
        session.show_engine()


def _first(told: object) -> object:
    """Return our settings from a client's answer, which has one item per requested section."""
    item = told[0] if isinstance(told, list | tuple) and told else None
    return section_of(item) if isinstance(item, Mapping) else {}


def _told(settings: object) -> object:
    """Return our part of what a client sent, or None. Some clients send the settings of every extension."""
    if not isinstance(settings, Mapping):
        return None
    ours = section_of(settings)
    return ours if ours is not settings or any(key in SETTINGS for key in settings) else None
