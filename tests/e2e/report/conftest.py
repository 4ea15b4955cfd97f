"""A browser for the report. Without one the tests are skipped, loudly; with INFILL_E2E=1 they fail."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CACHE = HERE.parents[2] / ".cache" / "e2e" / "report"
sys.path.append(str(HERE.parent / "vscode"))
from driver.browser import Browser  # noqa: E402  (it is shared with the tests of VS Code)

SETUP_SECONDS = 600


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless browser."""
    wanted = os.environ.get("INFILL_E2E")
    if wanted == "0":
        pytest.skip("INFILL_E2E=0")
    setup = subprocess.run([str(HERE / "setup")], capture_output=True, text=True, timeout=SETUP_SECONDS, check=False)
    if setup.returncode:
        said = f"THE REPORT IS NOT LOOKED AT, no browser could be set up: {(setup.stderr or setup.stdout)[-2000:]}"
        if wanted == "1":
            pytest.fail(said)
        pytest.skip(said)
    made = Browser(CACHE)
    yield made
    made.close()
