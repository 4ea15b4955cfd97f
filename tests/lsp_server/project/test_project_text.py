"""The text of files that nobody has open: which, in which order, and that lines are found in them."""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from lsprotocol import types

from infill_engine.context import project_text
from infill_engine.serving.protocol import State, Status
from infill_engine.types import ProjectText
from lsp_server.documents.snapshots import Snapshot
from lsp_server.handlers.configuration import apply_options
from lsp_server.handlers.text_sync import did_close
from lsp_server.project import text as stored_texts
from lsp_server.project.text import Project, ProjectTexts, project_of, read_project
from lsp_server.server import create_server
from lsp_server.session import Session
from lsp_server.settings.schema import DEFAULT_EXCLUDES, ServerSettings

REPOSITORY = Path(__file__).parents[3]
LINE = "connection = open_connection(host, port)\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {
        "app/views/here.py": "own = 1\n",
        "app/views/beside.py": "beside = 1\n",
        "app/models.py": "above = 1\n",
        "lib/other/far.py": "far = 1\n",
        "app/views/page.js": "let script = 1\n",
        "app/views/secrets.py": "secret = 1\n",
        "node_modules/app/x.py": "foreign = 1\n",
        "app/views/ignored.py": "ignored = 1\n",
        ".gitignore": "ignored.py\nnode_modules/\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def words(near: ProjectText) -> list[str]:
    return [line.split()[0] for line in near.text.splitlines() if line]


def test_the_nearest_files_of_the_language_come_first(project: Path) -> None:
    subprocess.run(["git", "init", "-q", project], check=True)
    near = read_project(project / "app/views/here.py", "python", project, DEFAULT_EXCLUDES).text
    assert words(near) == ["beside", "above", "far"]
    assert dict(near.each())["app/models.py"].strip() == "above = 1"
    assert [path for path, _ in near.files] == ["app/views/beside.py", "app/models.py", "lib/other/far.py"]


def test_without_git_foreign_folders_are_left_out(project: Path) -> None:
    near = read_project(project / "app/views/here.py", "python", project, DEFAULT_EXCLUDES).text
    assert words(near) == ["beside", "ignored", "above", "far"]


FORBIDDEN = """
import os, sys
from pathlib import Path
from lsp_server.project.text import read_project
project = Path(sys.argv[1])
if os.geteuid() == 0:
    read_project(project / "here.py", "python", project, ())  # imports all that may lie where only root may go
    os.seteuid(65534)
print(read_project(project / "here.py", "python", project, ()).text.text)
"""


@pytest.mark.skipif(os.name == "nt", reason="no permissions of this kind")
def test_a_folder_that_may_not_be_entered_is_passed_over() -> None:
    with tempfile.TemporaryDirectory() as folder:  # not pytest's, which lie where only their owner may go
        Path(folder).chmod(0o755)
        Path(folder, "beside.py").write_text("beside = 1")
        Path(folder, "database").mkdir(mode=0o000)
        command = [sys.executable, "-c", FORBIDDEN, folder]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPOSITORY)
        Path(folder, "database").chmod(0o700)
    assert (ran.stdout, ran.stderr) == ("beside = 1\n", "")


def test_only_so_much_is_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_text, "MOST_CHARS", 14)
    near = read_project(project / "lib/other/new.py", "python", project, ()).text
    assert words(near) == ["far", "above"]


def test_a_folder_that_is_gone_has_no_text(tmp_path: Path) -> None:
    assert read_project(tmp_path / "gone/a.py", "python", tmp_path / "gone", ()).text == ProjectText()


@pytest.mark.parametrize(("mark", "found"), [(".git", True), ("pyproject.toml", True), ("notes.txt", False)])
def test_a_project_is_known_by_its_marks(tmp_path: Path, mark: str, found: bool) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / mark).write_text("")
    assert (project_of(tmp_path / "a/b/c.py") == tmp_path) is found


def opened(session: Session, folder: Path, text: str = "") -> Snapshot:
    return session.workspace.documents.open((folder / "app/new.py").as_uri(), "python", text or LINE[:29])


async def settled(session: Session) -> None:
    while session.background.running:
        await asyncio.sleep(0.01)


async def drafts(session: Session, snapshot: Snapshot) -> list[str]:
    session.prefetch.read_project(snapshot)
    await settled(session)
    return [draft.text for draft in session.requests.completion(snapshot, (0, len(snapshot.lines[0]))).drafts or ()]


@pytest.mark.parametrize(
    ("roots", "search", "expected"), [(True, True, ["host, port)"]), (True, False, []), (False, True, [])]
)
async def test_lines_are_found_in_files_of_the_workspace(
    project: Path, roots: bool, search: bool, expected: list[str]
) -> None:
    (project / "app/net.py").write_text(LINE)
    _, session = create_server()
    session.workspace.roots = (str(project),) if roots else ()
    session.workspace.settings = ServerSettings(search_project=search)
    assert await drafts(session, opened(session, project)) == expected


async def test_what_is_old_is_read_again(project: Path) -> None:
    now = [0.0]
    _, session = create_server()
    session.workspace.project = ProjectTexts(clock=lambda: now[0])
    session.workspace.roots = (str(project),)
    snapshot = opened(session, project)
    assert await drafts(session, snapshot) == []
    (project / "app/net.py").write_text(LINE)
    assert await drafts(session, snapshot) == []
    now[0] += stored_texts.OLD_SECONDS + 1
    assert await drafts(session, snapshot) == ["host, port)"]


async def test_of_many_documents_opened_at_once_the_last_are_read(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Project texts are remembered for a few: to read those of the others would keep these waiting."""
    read: list[str] = []
    monkeypatch.setattr(stored_texts, "read_project", lambda path, *_: read.append(path.name) or Project())
    _, session = create_server()
    session.workspace.roots = (str(project),)
    for number in range(50):
        uri = (project / f"app/{number}.py").as_uri()
        session.prefetch.read_project(session.workspace.documents.open(uri, "python", ""))
    await settled(session)
    assert read[1:] == [f"{number}.py" for number in range(50 - stored_texts.DOCUMENTS, 50)]


async def test_the_text_around_a_closed_document_is_forgotten(project: Path) -> None:
    (project / "app/net.py").write_text(LINE)
    _, session = create_server()
    session.workspace.roots = (str(project),)
    snapshot = opened(session, project)
    assert await drafts(session, snapshot) == ["host, port)"]
    did_close(session, types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(snapshot.uri)))
    assert session.workspace.project.of(snapshot.uri).text == ProjectText()


async def test_what_is_excluded_is_forgotten_at_once(project: Path) -> None:
    (project / "app/net.py").write_text(LINE)
    _, session = create_server()
    session.workspace.roots = (str(project),)
    snapshot = opened(session, project)
    assert await drafts(session, snapshot) == ["host, port)"]
    await apply_options(session, {"excludes": ["net.py"]})
    assert await drafts(session, snapshot) == []
    await apply_options(session, {"excludes": []})
    assert await drafts(session, snapshot) == ["host, port)"]


async def test_the_engine_gets_what_was_read_and_requests_name_it(project: Path) -> None:
    (project / "app/net.py").write_text(LINE)
    _, session = create_server()
    session.workspace.roots = (str(project),)
    got: list[ProjectText] = []
    session.engine.index_project = got.append  # type: ignore[method-assign]
    snapshot = opened(session, project)
    session.prefetch.read_project(snapshot)
    assert session.requests.completion(snapshot, (0, 0)).project_name == ""
    await settled(session)
    (near,) = got
    assert LINE in near.text
    assert session.requests.completion(snapshot, (0, 0)).project_name == near.name


async def test_a_new_worker_gets_it_again(project: Path) -> None:
    (project / "app/net.py").write_text(LINE)
    _, session = create_server()
    session.workspace.roots = (str(project),)
    snapshot = opened(session, project)
    await drafts(session, snapshot)
    got: list[ProjectText] = []
    session.engine.index_project = got.append  # type: ignore[method-assign]
    session._on_status(Status(State.READY))
    assert got == [session.workspace.project.of(snapshot.uri).text]
