"""What a model's name means: the same to an editor's server and on the command line."""

import os
from pathlib import Path

import pytest

from infill_engine.models.registry import resolved
from lsp_server.server import create_server
from lsp_server.settings.schema import EngineChoice

PUBLISHED = "Qwen/Qwen2.5-Coder-0.5B"

MEANT = [
    # a name, and what it means in the folder /ws
    ("default", "default"),
    ("scripted", "scripted"),
    ("scripted:says.json", "scripted:/ws/says.json"),
    ("scripted:/t/says.json", "scripted:/t/says.json"),
    (PUBLISHED, PUBLISHED),
    (f"{PUBLISHED}@v1.0", f"{PUBLISHED}@v1.0"),
    ("openai:https://gpu.example.com/v1#Qwen/Coder", "openai:https://gpu.example.com/v1#Qwen/Coder"),
    ("llama:http://localhost:8012", "llama:http://localhost:8012"),
    ("coder", "/ws/coder"),
    ("./Qwen/coder", "/ws/Qwen/coder"),
    ("../coder", "/coder"),
    ("models/Qwen/coder", "/ws/models/Qwen/coder"),
    ("/models/coder", "/models/coder"),
    ("~/coder", f"{Path.home()}/coder"),
]


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
@pytest.mark.parametrize(("name", "meant"), MEANT)
def test_what_a_name_means(name: str, meant: str) -> None:
    assert resolved(name, Path("/ws")) == meant


def test_a_folder_of_that_name_goes_first(tmp_path: Path) -> None:
    assert resolved(PUBLISHED, tmp_path) == PUBLISHED
    (tmp_path / PUBLISHED).mkdir(parents=True)
    assert resolved(PUBLISHED, tmp_path) == str(tmp_path / PUBLISHED)


@pytest.mark.parametrize("roots", [True, False])
def test_an_editor_may_name_a_published_model(tmp_path: Path, roots: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, session = create_server()
    session.workspace.roots = (str(tmp_path),) if roots else ()
    assert session.resolve(EngineChoice(PUBLISHED)).model == PUBLISHED
    assert session.resolve(EngineChoice("coder")).model == str(tmp_path / "coder")
