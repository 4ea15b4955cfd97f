"""`infill-ls adapt` end to end, with a tiny default model and a small project."""

import errno
import json
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import torch

from infill_engine.errors import InputError
from infill_engine.models import load
from infill_engine.models.duostream.config import DuostreamConfig
from infill_engine.models.duostream.net import Duostream
from infill_engine.models.duostream.weights import save_network
from infill_engine.train import adapt as training
from infill_engine.train.tokenizer import train
from lsp_server import adapted
from lsp_server.__main__ import main
from lsp_server.commands import adapt as command
from lsp_server.commands.adapt import Measured, is_better
from lsp_server.commands.line_trial import Score, draw_holes
from lsp_server.project_files import Project, ProjectFile, read_project
from lsp_server.settings import DEFAULT_EXCLUDES

REPOSITORY = Path(__file__).parents[3]
QUICK = ("--minutes", "0.1")
SECRET = "hunter2_hunter2"


@pytest.fixture(scope="module")
def tiny_default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("default")
    tokenizer = train((path.read_text() for path in (REPOSITORY / "infill_engine").rglob("*.py")), vocab=600)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    shape = DuostreamConfig(tokenizer.get_vocab_size(), 32, 2, 64, encoder_layers=1, decoder_layers=1, ngram_slots=256)
    save_network(Duostream(shape), folder)
    return folder


@pytest.fixture
def project(tmp_path: Path, tiny_default: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with everything in it that must not be read."""
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(load, "SMALL_FOLDER", tiny_default)
    monkeypatch.setattr(adapted, "SMALL_FOLDER", tiny_default)
    # A busy machine may not get far with a tiny model in seconds.
    monkeypatch.setattr(command, "is_better", lambda was, now: True)
    project = tmp_path / "project"
    for path in sorted((REPOSITORY / "infill_engine" / "sampler").glob("*.py")):
        write(project / "source" / path.name, path.read_text())
    secret = f"password = '{SECRET}'\n"
    write(project / "secrets.py", secret)
    write(project / ".ssh" / "config.py", secret)
    write(project / ".env", secret)
    write(project / "server.pem", secret)
    write(project / "node_modules" / "module.js", secret)
    write(project / ".venv" / "lib.py", secret)
    write(project / "environment" / "pyvenv.cfg", "")
    write(project / "environment" / "lib.py", secret)
    write(project / "data.json", secret)
    write(project / "huge.py", secret * 50_000)
    write(project / "packed.js", secret + "x" * 5_000)
    write(project / "empty.py", "\n")
    write(project / "copy.py", (project / "source" / "plan.py").read_text())
    (project / "binary.py").write_bytes(b"a = 1\0" + secret.encode())
    (project / "latin.py").write_bytes(b"# caf\xe9\n" + secret.encode())
    (project / "link.py").symlink_to(project / "secrets.py")
    (project / "gone.py").symlink_to(project / "nowhere.py")
    return project


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def read(root: Path, most: int = 10_000_000) -> Project:
    return read_project(root, DEFAULT_EXCLUDES, most)


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_adapt_use_and_reset(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapt", str(project), *QUICK, "--json"]) == 0
    told = capsys.readouterr()
    report = json.loads(told.out)
    assert report["kept"] is True
    assert report["project"] == str(project)
    assert report["tokens"] > 0
    assert report["after"]["loss"] <= report["before"]["loss"]
    assert report["after"]["score"]["holes"] == report["before"]["score"]["holes"] > 0
    assert report["files"]["held_out"] >= 1
    assert "before" in told.err
    assert "held out" in told.err
    assert "infill.restartEngine" in told.err

    folder = Path(report["folder"])
    assert json.loads((folder / adapted.MANIFEST).read_text()).items() <= report.items()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert adapted.choose("default", [project / "source" / "plan.py"]).model == str(folder)

    place = f"{project / 'source' / 'plan.py'}:12:1"
    assert main(["complete", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "default, adapted to project"

    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-9] + b"damaged!!")
    assert main(["complete", place, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["model"] == "default"
    assert "damaged" in told.err
    assert "infill-ls adapt" in told.err

    assert main(["adapt", str(project), "--reset"]) == 0
    assert "is removed" in capsys.readouterr().out
    assert not folder.exists()
    assert main(["adapt", str(project), "--reset"]) == 0
    assert "no model adapted" in capsys.readouterr().out


def test_secrets_and_what_is_no_source_are_not_packed(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed: list[tuple[str, str]] = []
    pack = training.pack

    def watched(texts: Any, base: Path) -> Any:
        given = list(texts)
        packed.extend(given)
        return pack(given, base)

    monkeypatch.setattr(training, "pack", watched)
    assert main(["adapt", str(project), *QUICK]) == 0
    everything = "".join(text for text, _ in packed)
    assert "def plan_rows" in everything
    assert SECRET not in everything
    told = capsys.readouterr().out
    for reason in ("excluded", "1 MB", "binary", "links", "empty", "copies", "by hand", "language known"):
        assert reason in told


def test_git_says_what_belongs_to_the_project(project: Path) -> None:
    git = ["git", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True)
    write(project / ".gitignore", "ignored/\nsource/rules.py\n")
    write(project / "ignored" / "notes.py", "ignored = 1\n")
    write(project / "source" / "new.py", "fresh = 1\n")
    subprocess.run([*git, "add", "source/plan.py"], check=True)
    paths = {str(file.path) for file in read(project).files}
    assert {"source/plan.py", "source/new.py"} <= paths
    assert not {path for path in paths if "ignored" in path or "rules" in path or "secrets" in path or ".ssh" in path}
    assert {str(file.path) for file in read(project / "source").files} >= {"plan.py", "new.py"}


def test_held_out_files_are_few_and_stay_the_same(project: Path) -> None:
    learned, held_out = read(project).split()
    characters = sum(len(file.text) for file in (*learned, *held_out))
    assert 0 < sum(len(file.text) for file in held_out) <= 0.15 * characters
    assert not {file.path for file in learned} & {file.path for file in held_out}
    assert read(project).split() == (learned, held_out)


def test_a_large_project_is_sampled(project: Path) -> None:
    write(project / "source" / "a.js", "function one() { return 1 }\n")
    whole, part = read(project), read(project, most=10_000)
    assert (whole.beyond, part.beyond > 0) == (0, True)
    assert 0 < len(part.files) < len(whole.files)
    assert part.files == whole.files[: len(part.files)]
    assert whole.files[-1].language == "javascript"


def test_holes_are_ends_of_lines_of_code() -> None:
    text = '"""A docstring\nof two lines."""\n\n# a comment only\nvalue = compute(1234)\n'
    (file,) = [file for file in _project_of(text).files if file.language == "python"]
    holes = draw_holes([file], 100)
    assert 5 < len(holes) < 25
    for hole in holes:
        assert "value = compute(1234)".endswith(hole.gold)
        assert hole.request.prefix.endswith("value = compute(1234)".removesuffix(hole.gold))
        assert hole.gold not in hole.request.suffix


def test_the_projects_other_files_are_at_hand_as_in_an_editor() -> None:
    (file,) = _project_of("def f():\n    return gather(first, second)\n").files
    like, foreign = (
        ProjectFile(PurePosixPath(name), language, "    return gather(first, second)\n")
        for name, language in (("like.py", "python"), ("foreign.go", "go"))
    )
    for others, text in (([like], like.text), ([foreign, like], like.text), ([foreign], "")):
        holes = draw_holes([file], 100, others)
        assert {hole.surroundings.text for hole in holes} == {text}
        assert {hole.request.surroundings for hole in holes} == {holes[0].surroundings.name}
        assert any(draft.text == hole.gold for hole in holes for draft in hole.request.drafts) == bool(text)


def _project_of(text: str) -> Project:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder, "file.py"), text)
        return read(Path(folder))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: None, "does not exist"),
        (lambda folder: folder.write_text("x"), "is not a folder"),
        (lambda folder: folder.mkdir(), "no source files"),
        (lambda folder: write(folder / "one.py", "x = 1\n"), "1 source file"),
        (lambda folder: [write(folder / name, f"{name[0]} = 1\n") for name in ("a.py", "b.py")], "too little"),
        (lambda folder: write(folder / "photo.py", "\0"), "binary"),
    ],
)
def test_folders_without_anything_to_learn_from(
    make: Any, message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = project / "bad"
    make(folder)
    assert main(["adapt", str(folder), *QUICK]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_a_run_that_ends_early_leaves_what_was(
    fault: BaseException, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["adapt", str(project), *QUICK]) == 0
    home = adapted.folder_for(project).parent
    before = files_below(home)

    def fails(*_: object) -> None:
        (staged,) = (path for path in home.iterdir() if path.name.endswith(".new"))
        (staged / "model.safetensors").write_bytes(b"half of it")
        raise fault

    monkeypatch.setattr(training, "save", fails)
    status = main(["adapt", str(project), *QUICK])
    told = capsys.readouterr().err
    assert files_below(home) == before
    assert {path.name for path in home.iterdir()} == {adapted.folder_for(project).name, "adapting.lock"}
    if isinstance(fault, KeyboardInterrupt):
        assert (status, "as it was before" in told) == (130, True)
    else:
        assert (status, "No space left" in told, "unchanged" in told) == (2, True, True)


def test_a_copy_that_is_no_better_is_thrown_away(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "is_better", lambda was, now: False)
    assert main(["adapt", str(project), *QUICK]) == 0
    assert "Not better" in capsys.readouterr().out
    assert adapted.choose("default", [project]).model == "default"


def test_one_run_at_a_time(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with adapted.only_run():
        assert main(["adapt", str(project), *QUICK]) == 2
        with pytest.raises(InputError, match="another"), adapted.only_run():
            pass
    assert "another `infill-ls adapt` is running" in capsys.readouterr().err


def test_a_pattern_that_is_none_reads_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapt", str(project), "--exclude", "[z-a]"]) == 2
    assert "'[z-a]' is not .gitignore syntax" in capsys.readouterr().err


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "five", "100000"])
def test_minutes_that_make_no_sense(minutes: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["adapt", ".", "--minutes", minutes])
    assert "is not a number of minutes" in capsys.readouterr().err


def test_what_is_better() -> None:
    was = Measured(Score(100, 20, 25, 5, 8), 4.0)
    assert is_better(was, Measured(Score(100, 20, 25, 4, 8), 3.9))
    assert is_better(was, Measured(Score(100, 19, 27, 5, 8), 3.9))
    assert not is_better(was, Measured(Score(100, 30, 35, 9, 9), 4.0))
    assert not is_better(was, Measured(Score(100, 19, 25, 9, 9), 3.0))
