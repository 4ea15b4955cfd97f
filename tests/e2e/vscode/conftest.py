"""Sets up what the tests in this folder run, once; and one workbench for all of them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driver.launch import workbench
from driver.scripts_said import scripted
from driver.workbench import Workbench

SETUP_SECONDS = 600
Own = tuple[str, dict[str, Any]]


@pytest.fixture(scope="session")
def set_up() -> None:
    """Everything is there that is run. Skips where that is impossible, unless INFILL_E2E=1."""
    wanted = os.environ.get("INFILL_E2E")
    if wanted == "0":
        pytest.skip("INFILL_E2E=0")
    setup = subprocess.run(
        [str(Path(__file__).with_name("setup"))], capture_output=True, text=True, timeout=SETUP_SECONDS, check=False
    )
    if setup.returncode:
        said = f"VS CODE IS NOT TESTED, it could not be set up: {(setup.stderr or setup.stdout)[-2000:]}"
        if wanted == "1":
            pytest.fail(said)
        pytest.skip(said)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for this run."""
    return tmp_path_factory.mktemp("vscode")


@pytest.fixture(scope="session")
def settings(set_up: None, scratch: Path) -> dict[str, Any]:
    """The settings that each test begins with."""
    # The files of the tests before are in the same folder, and are not to be copied from.
    own = {"budgetMs": 5000, "searchProject": False}
    return {"model": scripted(scratch, "example"), **own}


@pytest.fixture(scope="session")
def fresh(scratch: Path, settings: dict[str, Any]) -> Iterator[Workbench]:
    """A workbench on a machine without a server."""
    with workbench(scratch, settings) as made:
        yield made


@pytest.fixture(scope="session")
def offer(fresh: Workbench) -> str:
    """The message that offers to install the server, after it was followed with one click and the server is ready."""
    told = fresh.wait_for_message("infill-ls")
    assert fresh.status() == "Infill: install"
    fresh.press_button("Install")
    fresh.wait_for_status("Infill")
    # VS Code itself asks nobody about what is typed in the moment after the first document of a language was opened.
    fresh.open("first.py", "x =│")
    fresh.type_text(" ")
    fresh.wait_for_ghost("alpha(1)")
    return told


@pytest.fixture(scope="session")
def own() -> Own:
    """What all tests of a module begin with: the name of the model, and settings. A module may have another `own`."""
    return "example.json", {}


@pytest.fixture
def code(fresh: Workbench, offer: str, settings: dict[str, Any], own: Own) -> Iterator[Workbench]:
    """The workbench with the server installed, its model ready."""
    model, more = own
    fresh.close()
    fresh.configure(settings, **more)
    fresh.wait_for_model(model)
    yield fresh
    fresh.close_messages()
    fresh.configure(settings, **more)
