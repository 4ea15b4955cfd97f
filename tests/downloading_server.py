"""infill-ls on a machine without the default model: `python downloading_server.py PUBLISHED`.

A model in miniature, the file PUBLISHED, stands in for the default one. The engine is a toy. Its name is `whole` if the
default model's files are there when it starts, else `retrieval`.
"""

import argparse
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests" / "infill_engine" / "models" / "trunk")]

from tiny_gguf import source_of, write_plan  # noqa: E402

from infill_engine.models.checkpoint import download, user_data  # noqa: E402
from infill_engine.models.trunk.files import convert, folder, published_file  # noqa: E402
from infill_engine.serving.__main__ import add_socket  # noqa: E402
from tests.toy_engine import ToyEngine  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("published", type=Path)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--stdio", action="store_true")
    add_socket(parser)
    options = parser.parse_args()
    published_file.PUBLISHED = source_of(options.published)
    folder.TRUNK_FOLDER = user_data.state_folder() / "package"
    download.PAUSES = (0.1, 0.1)
    if options.build:
        from lsp_server.cli.models import building

        convert.released = lambda: write_plan(user_data.state_folder() / "made-from", published_file.PUBLISHED)
        sys.exit(building.main())
    if options.socket:
        _serve_engine(options)
    _serve_editor((sys.executable, __file__, str(options.published)))


def _serve_engine(options: argparse.Namespace) -> None:
    from infill_engine.serving.listening import serve_socket

    toy = ToyEngine()
    toy.name = "whole" if folder.find_trunk(user_data.trunk_folder()).folder else "retrieval"
    serve_socket(lambda _progress: toy, options.socket, options.idle_seconds)


def _serve_editor(command: tuple[str, ...]) -> None:
    from infill_engine.process import exit_now
    from lsp_server import server
    from lsp_server.handlers import download as download_command

    download_command.BUILDER = (*command, "--build")
    exit_now(server.serve_stdio(lambda _choice: command))


if __name__ == "__main__":
    main()
