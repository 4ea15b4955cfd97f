"""The command line: `infill-ls` or `python -m lsp_server`. Without a subcommand it serves.

The other subcommands live in `lsp_server.cli`. Each imports its own dependencies, so that serving starts fast.
"""

import argparse
import gc
import sys
from collections.abc import Sequence
from typing import NoReturn

from lsp_server.cli import INTERRUPTED, add_commands, add_http, run_command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    run = options.run
    return int(run(options))


def serve(options: argparse.Namespace) -> int:
    """Serve one editor on stdin and stdout, or clients over HTTP."""
    over_http = getattr(options, "http", False) or getattr(options, "ray", False)
    return run_command("serve_http", options) if over_http else _serve_editor()


def _serve_editor() -> NoReturn:
    gc.disable()
    from infill_engine.process import exit_now
    from lsp_server.protocol.pygls_internals import import_protocol_types

    import_protocol_types()
    from lsp_server.server import serve_stdio

    gc.freeze()  # what has been imported never becomes garbage
    gc.enable()
    try:
        status = serve_stdio()
    except KeyboardInterrupt:
        status = INTERRUPTED
    exit_now(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="infill-ls", description="Language server that completes code at the cursor.")
    _add_stdio(parser)
    parser.add_argument("--version", action=_ShowVersion, nargs=0, help="print the version and exit")
    parser.set_defaults(run=serve)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    serving = commands.add_parser("serve", help="serve an editor on stdin and stdout (the default), or over HTTP")
    _add_stdio(serving)
    add_http(serving)
    serving.set_defaults(run=serve)
    add_commands(commands.add_parser)
    return parser


def _add_stdio(parser: argparse.ArgumentParser) -> None:
    # Some clients append --stdio.
    parser.add_argument("--stdio", action="store_true", help="accepted and ignored")


class _ShowVersion(argparse.Action):
    """Prints the version. Looking it up takes longer than parsing all other arguments, so it is done on request."""

    def __call__(self, parser: argparse.ArgumentParser, *_arguments: object) -> None:
        from infill_engine.serving.runtime_files import package_version

        sys.stdout.write(f"{parser.prog} {package_version()}\n")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
