"""No test counts into the statistics of whoever runs it. Servers that all tests of a module share."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from capabilities import BARE, NEOVIM, VSCODE
from editor import SCRIPT, Editor, editor
from prepared_models import share_prepared


@pytest.fixture(scope="session", autouse=True)
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("state")
    share_prepared(folder / "prepared")
    before = os.environ.get("INFILL_STATE_DIR")
    os.environ["INFILL_STATE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["INFILL_STATE_DIR"]
    else:
        os.environ["INFILL_STATE_DIR"] = before


def _running(capabilities: dict[str, Any]) -> Callable[..., AsyncIterator[Editor]]:
    """Return a fixture: a server whose engine follows the module's SCRIPT, or else the usual one."""

    @pytest_asyncio.fixture(scope="module", loop_scope="module")
    async def running(request: pytest.FixtureRequest) -> AsyncIterator[Editor]:
        script = getattr(request.module, "SCRIPT", SCRIPT)
        async with editor(capabilities, script, options={"budgetMs": 5000}) as made:
            await made.ready()
            yield made

    return running


running_bare, running_neovim, running_vscode = map(_running, (BARE, NEOVIM, VSCODE))


@pytest.fixture
def bare(running_bare: Editor) -> Iterator[Editor]:
    """An editor without inline completion and without open documents."""
    yield running_bare
    running_bare.close_all()


@pytest.fixture
def neovim(running_neovim: Editor) -> Iterator[Editor]:
    """Neovim without open documents."""
    yield running_neovim
    running_neovim.close_all()


@pytest.fixture
def vscode(running_vscode: Editor) -> Iterator[Editor]:
    """VS Code without open documents."""
    yield running_vscode
    running_vscode.close_all()
