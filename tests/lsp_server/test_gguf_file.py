"""A GGUF file as the model, over stdio."""

import sys
from pathlib import Path

import pytest
from capabilities import NEOVIM
from editor import editor

sys.path.append(str(Path(__file__).parents[1] / "infill_engine" / "models" / "trunk"))

from tiny_gguf import coder, write_gguf

TEXT = "total = self.width * self.height\nother = self.width * self.height\nthird = self.w│\n"


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    write_gguf(tmp_path / "coder.gguf", form=coder(tmp_path))
    return tmp_path / "coder.gguf"


async def test_a_file_is_named_by_its_path_and_serves(gguf: Path) -> None:
    options = {"model": "coder.gguf", "showThreshold": 0, "budgetMs": 5000, "device": "cpu"}
    async with editor(NEOVIM, options=options, root=gguf.parent.as_uri()) as window:
        await window.ready()
        assert window.statuses[-1].model == str(gguf)
        assert "idth * self.height" in await window.ask(window.open(TEXT, (gguf.parent / "a.py").as_uri()))
        assert not window.messages
