"""One server for all tests that only ask."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from http_server import Server, serving


@pytest.fixture(scope="session")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("http")) as made:
        made.ready()
        yield made


@pytest.fixture
def server(_running: Server) -> Iterator[Server]:
    """A server that must have met no fault afterwards."""
    yield _running
    assert "a request failed" not in _running.log.read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
