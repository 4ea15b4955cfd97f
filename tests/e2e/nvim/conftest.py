"""Editors for the tests. Without a Neovim they are skipped, loudly; with INFILL_E2E=1 they fail."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editor_setup import set_up_or_skip
from nvim_editor import SCRIPT, Editor, Start, editor

_ERROR = re.compile(r"^(?:E\d+:|Error|Lua:|.*stack traceback)")


@pytest.fixture(scope="session")
def neovim() -> str:
    """The editor's path."""
    return set_up_or_skip(Path(__file__).parent, "Neovim", "nothing of editors/nvim was tested")


@pytest.fixture
def start(neovim: str, tmp_path: Path) -> Start:
    """Starts an editor of a test's own: start(options, script)."""

    def started(options: Any = None, script: Any = None) -> Any:
        return editor(tmp_path, options, script)

    return started


@pytest.fixture(scope="session")
def running(neovim: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    with editor(tmp_path_factory.mktemp("nvim"), {"settings": {"budgetMs": 5000}}, SCRIPT) as started:
        started.open("│", "first.py")
        started.ready()
        yield started


@pytest.fixture
def nvim(running: Editor) -> Iterator[Editor]:
    """An editor without open files, whose engine says what SCRIPT says. It must not have met an error afterwards.

    A module may have another `running`.
    """
    running.fresh()
    yield running
    errors = [line for line in running.messages if _ERROR.match(line)]
    assert not errors, errors
