"""Runs the HTTP server and the engine behind it."""

import contextlib
import logging
import socket
import ssl
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette

from infill_engine.errors import InputError
from infill_engine.process import say, write_no_core_files
from infill_engine.serving.runtime_files import package_version
from lsp_server.http.access import Access
from lsp_server.http.application import application
from lsp_server.http.completing import Completer
from lsp_server.settings.file import read_file
from lsp_server.settings.schema import ServerSettings, read_settings

MOST_CONNECTIONS = 1024
KEEP_ALIVE_SECONDS = 60
LEAVING_SECONDS = 3  # for requests in progress when the server is told to stop
BACKLOG = 512


def serve_http(access: Access) -> None:
    """Serve until a signal ends this process. Raises InputError for an address or a certificate that cannot be used."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    write_no_core_files()
    settings, _ = read_settings(settings_content())
    serve_application(_application(settings, access), access)


def serve_application(application: Starlette, access: Access) -> None:
    """Serve an application until a signal. Raises InputError for an address or a certificate that cannot be used."""
    config = uvicorn.Config(
        application,
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=LEAVING_SECONDS,
        ssl_certfile=access.certificate,
        ssl_keyfile=access.private_key,
    )
    try:
        config.load()
    except ssl.SSLError as fault:
        raise InputError(f"{access.certificate} and {access.private_key} are not a certificate and its key") from fault
    with listening(access) as listener:
        say(f"infill-ls: listening on {access.url(listener.getsockname()[1])}")
        uvicorn.Server(config).run([listener])


def settings_content() -> dict[str, Any]:
    """Return the content of the user's settings file, which no editor overrides here. Say what is wrong with it."""
    content, unusable = read_file()
    for warning in filter(None, (unusable, *read_settings(content)[1])):
        say(warning)
    return content


def _application(settings: ServerSettings, access: Access) -> Starlette:
    completer = Completer.local(settings, shared=True)

    @contextlib.asynccontextmanager
    async def engine_runs(_app: Starlette) -> AsyncIterator[None]:
        await completer.start()
        try:
            yield
        finally:
            await completer.engine.stop()

    return application(completer, access, package_version(), engine_runs)


def listening(access: Access) -> socket.socket:
    """Return a socket that listens at the address. Raises InputError if it cannot."""
    family = socket.AF_INET6 if ":" in access.host else socket.AF_INET
    try:
        return socket.create_server((access.host, access.port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as fault:
        raise InputError(f"port {access.port} of {access.host} cannot be used ({fault}); choose another") from fault
