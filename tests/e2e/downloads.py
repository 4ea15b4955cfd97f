"""A machine without the default model, for the tests in real editors: a hub that publishes a model in miniature."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "infill_engine" / "models"), str(TESTS / "infill_engine" / "models" / "trunk")]

from hub_server import Hub, serving  # noqa: E402
from tiny_gguf import write_gguf  # noqa: E402

PROGRAM = TESTS / "downloading_server.py"
FILE = "tiny.gguf"


@contextmanager
def published(folder: Path) -> Iterator[Hub]:
    """The hub, while it answers."""
    folder.mkdir()
    write_gguf(folder / FILE)
    with serving(Hub({"some/tiny-GGUF": folder})) as hub:
        yield hub
