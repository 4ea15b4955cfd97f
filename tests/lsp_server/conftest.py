"""No test counts into the statistics of whoever runs it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("state")
    before = os.environ.get("INFILL_STATE_DIR")
    os.environ["INFILL_STATE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["INFILL_STATE_DIR"]
    else:
        os.environ["INFILL_STATE_DIR"] = before
