"""`infill-ls serve --http`: completions over HTTP, for the clients of other servers."""

import argparse

from infill_engine.errors import InputError


def run(options: argparse.Namespace) -> int:
    """Serve until a signal ends this process. Raises InputError for options that do not fit together."""
    try:
        from lsp_server.http.access import checked_access
        from lsp_server.http.serving import serve_http
    except ModuleNotFoundError as missing:
        raise InputError(f"serving over HTTP needs {missing.name}; install infill-ls[http]") from None
    access = checked_access(
        options.host,
        options.port,
        options.api_key_file,
        options.tls_certificate,
        options.tls_key,
        plain=options.plain_http,
    )
    serve_http(access)
    return 0
