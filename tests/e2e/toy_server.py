"""infill-ls with a toy engine in its second process, for tests in real editors."""

import argparse
import sys
from collections.abc import Callable

from infill_engine.serving.__main__ import add_socket
from tests.toy_engine import ToyEngine


def serve(program: str, engine: Callable[[], ToyEngine]) -> None:
    """Be the server that an editor starts, or the engine that this server starts from the same `program`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stdio", action="store_true")
    add_socket(parser)
    options = parser.parse_args()
    if options.socket:
        from infill_engine.serving.listening import serve_socket

        serve_socket(lambda _progress: engine(), options.socket, options.idle_seconds)
    from infill_engine.process import exit_now
    from lsp_server.server import serve_stdio

    exit_now(serve_stdio(lambda _choice: (sys.executable, program)))
