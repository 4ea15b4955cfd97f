"""The command line: `infill-ls` or `python -m lsp_server`. Without a subcommand it serves.

The other subcommands live in `lsp_server.cli`. Each imports its own dependencies, so that serving starts fast.
"""

import argparse
import sys
from collections.abc import Sequence

from lsp_server.cli import INTERRUPTED, add_commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status."""
    options = _parser().parse_args(sys.argv[1:] if arguments is None else arguments)
    run = options.run
    return int(run(options))


def serve(_options: argparse.Namespace) -> int:
    """Serve one editor on stdin and stdout."""
    from infill_engine.stderr import exit_now
    from lsp_server.protocol.fast_import import import_protocol_types

    import_protocol_types()
    from lsp_server.server import serve_stdio

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

    serving = commands.add_parser("serve", help="serve an editor on stdin and stdout (the default)")
    _add_stdio(serving)
    serving.set_defaults(run=serve)
    add_commands(commands)
    return parser


def _add_stdio(parser: argparse.ArgumentParser) -> None:
    # Some clients append --stdio. There is no other transport.
    parser.add_argument("--stdio", action="store_true", help="accepted and ignored")


class _ShowVersion(argparse.Action):
    """Prints the version. Looking it up takes longer than parsing all other arguments, so it is done on request."""

    def __call__(self, parser: argparse.ArgumentParser, *_arguments: object) -> None:
        from lsp_server.server import NAME, version

        sys.stdout.write(f"{NAME} {version()}\n")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
