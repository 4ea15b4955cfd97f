"""`infill-ls serve --http` and `--ray`: completions over HTTP, for the clients of other servers."""

import argparse

from infill_engine.errors import InputError


def run(options: argparse.Namespace) -> int:
    """Serve until a signal ends this process. Raises InputError for options that do not fit together."""
    extra = "ray" if options.ray else "http"
    try:
        from lsp_server.http.access import checked_access
        from lsp_server.http.serving import serve_http, settings_content

        if options.ray:
            from lsp_server.http.ray_serve import serve_ray
    except ModuleNotFoundError as missing:
        raise InputError(f"serving over HTTP needs {missing.name}; install infill-ls[{extra}]") from None
    access = checked_access(
        options.host,
        options.port,
        options.api_key_file,
        options.tls_certificate,
        options.tls_key,
        plain=options.plain_http,
    )
    if options.ray:
        serve_ray(access, settings_content(), options.replicas, options.cluster)
    else:
        serve_http(access)
    return 0
