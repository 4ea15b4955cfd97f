"""Which model serves a project: its own copy if it can be used, else the default, and the user hears why."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from lsprotocol import types

from infill_engine.models.folder import SMALL_FOLDER, WEIGHTS, fingerprint
from infill_engine.worker.protocol import State
from lsp_server import adapted
from lsp_server.extensions import CandidatesParams
from lsp_server.features.candidates import candidates
from lsp_server.server import create_server
from lsp_server.settings import EngineChoice

WAIT = 60  # seconds after which a test has failed


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a copy that is the default model itself."""
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path / "state"))
    project = tmp_path / "my project"
    (project / "src").mkdir(parents=True)
    install(project)
    return project


def install(project: Path, base: str = "") -> Path:
    staged = adapted.staging_folder(project)
    for path in SMALL_FOLDER.iterdir():
        shutil.copyfile(path, staged / path.name)
    (staged / adapted.MANIFEST).write_text(json.dumps({"base": base or fingerprint(SMALL_FOLDER)}))
    return adapted.install(staged, project)


def test_the_copy_serves_the_project_and_what_lies_in_it(project: Path) -> None:
    copy = str(adapted.folder_for(project))
    for place in (project, project / "src", project / "src" / "app.py"):
        assert adapted.choose("default", [place]) == adapted.Choice(copy)
    for place in (project.parent, project.with_name("my project 2")):
        assert adapted.choose("default", [place]) == adapted.Choice("default")
    assert adapted.choose("default", []) == adapted.Choice("default")
    assert adapted.choose("scripted", [project]) == adapted.Choice("scripted")
    assert adapted.shown_name(copy) == "default, adapted to my_project"
    assert [adapted.shown_name(name) for name in ("default", "/some/model")] == ["default", "/some/model"]


def test_the_nearest_copy_serves(project: Path) -> None:
    inner = install(project / "src")
    assert adapted.choose("default", [project / "src" / "app.py"]).model == str(inner)
    assert adapted.choose("default", [project / "test.py"]).model == str(adapted.folder_for(project))


def test_a_copy_is_for_its_owner_alone(project: Path) -> None:
    copy = adapted.folder_for(project)
    assert [folder.stat().st_mode & 0o777 for folder in (copy.parent, copy)] == [0o700, 0o700]


def test_a_copy_of_another_default_is_passed_over(project: Path) -> None:
    install(project, base="0" * 64)
    chosen = adapted.choose("default", [project])
    assert chosen.model == "default"
    assert "another default model" in chosen.warning
    assert f"infill-ls adapt {project}" in chosen.warning


@pytest.mark.parametrize("manifest", [None, "", "[]", "{}"])
def test_a_copy_without_a_manifest_is_passed_over(project: Path, manifest: str | None) -> None:
    path = adapted.folder_for(project) / adapted.MANIFEST
    path.unlink()
    if manifest is not None:
        path.write_text(manifest)
    chosen = adapted.choose("default", [project])
    assert chosen.model == "default"
    assert "cannot be used" in chosen.warning


def test_a_new_copy_replaces_the_old_one(project: Path) -> None:
    copy = install(project)
    (staged := adapted.staging_folder(project)).joinpath("half").write_text("written")
    assert adapted.choose("default", [project]).model == str(copy)
    adapted.staging_folder(project)
    assert not (staged / "half").exists()
    shutil.rmtree(staged)
    assert [path.name for path in copy.parent.iterdir()] == [copy.name]


def test_a_copy_that_could_not_be_replaced_stays(project: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        adapted.install(project / "missing", project)
    assert adapted.choose("default", [project]).model == str(adapted.folder_for(project))


def test_a_copy_set_aside_by_a_run_that_died_is_put_back(project: Path) -> None:
    copy = adapted.folder_for(project)
    copy.rename(copy.with_name(f".{copy.name}.old"))
    assert adapted.choose("default", [project]).model == "default"
    adapted.staging_folder(project)
    assert adapted.choose("default", [project]).model == str(copy)


def test_removing(project: Path) -> None:
    assert adapted.remove(project)
    assert not adapted.remove(project)
    assert adapted.choose("default", [project]).model == "default"
    assert not list(adapted.folder_for(project).parent.iterdir())


def test_removing_what_runs_that_died_have_left(project: Path) -> None:
    copy = adapted.folder_for(project)
    shutil.copytree(copy, copy.with_name(f".{copy.name}.old"))
    assert adapted.remove(project)
    copy.with_name(f".{copy.name}.new").mkdir()
    assert not adapted.remove(project)
    assert not list(copy.parent.iterdir())


async def test_the_server_runs_the_copy_and_falls_back_when_it_is_damaged(project: Path) -> None:
    _, session = create_server()
    warned: list[str] = []
    session.reporter.warn = warned.append  # type: ignore[method-assign]
    session.roots = (str(project), "/elsewhere")
    copy = adapted.folder_for(project)

    async def ready() -> object:
        async with asyncio.timeout(WAIT):
            await session.engine.start(session.resolve(EngineChoice(device="cpu")))
            while session.engine.status.state is not State.READY:
                await asyncio.sleep(0.05)
        return session.reporter.now()["model"]

    try:
        assert await ready() == "default, adapted to my_project"
        asked = CandidatesParams(types.TextDocumentIdentifier("file:///a.py"), types.Position(0, 0))
        listed = await candidates(session, asked)
        assert listed["model"] == "default, adapted to my_project"
        assert not warned
        with (copy / WEIGHTS).open("r+b") as weights:
            weights.seek(-1_000, 2)
            weights.write(b"\0" * 500)
        for _ in range(2):
            assert await ready() == "default"
        (warning,) = warned
        assert "damaged" in warning
        assert "infill-ls adapt" in warning
        install(project, base="0" * 64)
        assert await ready() == "default"
        assert len(warned) == 2
    finally:
        await session.end()
