"""`infill-ls models get`, with a model in miniature in place of the default one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "infill_engine" / "models" / "trunk"))
sys.path.append(str(Path(__file__).parents[2] / "infill_engine" / "models"))

from hub_server import Hub, serving
from tiny_gguf import write_gguf, write_plan

from infill_engine.models.checkpoint.user_data import STATE_DIR, trunk_folder
from infill_engine.models.trunk.files import convert, folder, published_file
from infill_engine.models.trunk.files.folder import verify_shards
from lsp_server.__main__ import main

Said = pytest.CaptureFixture[str]
NAMES = [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
DOWNLOAD = """
import sys
from pathlib import Path
from tiny_gguf import source_of, write_plan
from infill_engine.models.trunk.files import convert
from infill_engine.models.trunk.files import folder
from infill_engine.models.trunk.files import published_file
from infill_engine.models.checkpoint import download
from lsp_server.__main__ import main
download.PAUSES = (0.0, 0.0)
home, published = Path(sys.argv[1]), Path(sys.argv[2])
published_file.PUBLISHED = source_of(published)
convert.released = lambda: write_plan(home / "made-from", published_file.PUBLISHED)
folder.TRUNK_FOLDER = home / "package"
sys.exit(main(["models", "get", "--download", *sys.argv[3:]]))
"""


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file that the default model is built from; no package brings its own shards."""
    path = tmp_path / "tiny.gguf"
    source = write_gguf(path)
    plan = write_plan(tmp_path / "made-from", source)
    monkeypatch.setattr(published_file, "PUBLISHED", source)
    monkeypatch.setattr(convert, "released", lambda: plan)
    monkeypatch.setattr(folder, "TRUNK_FOLDER", tmp_path / "package")
    monkeypatch.setenv(STATE_DIR, str(tmp_path / "state"))
    return path


def test_without_a_file_nothing_is_fetched_and_both_ways_are_named(gguf: Path, capsys: Said) -> None:
    assert main(["models", "get"]) == 2
    said = capsys.readouterr().err
    for part in ("tiny.gguf", "https://huggingface.co/some/tiny-GGUF", "--from FILE", "--download"):
        assert part in said
    assert not trunk_folder().exists()


def test_a_file_is_built_from_and_not_twice(gguf: Path, capsys: Said) -> None:
    assert main(["models", "get", "--from", str(gguf)]) == 0
    assert f"Built 3 files in {trunk_folder()}" in capsys.readouterr().out
    verify_shards(trunk_folder())
    gguf.unlink()
    assert main(["models", "get"]) == 0
    assert f"already built and intact: {trunk_folder()}" in capsys.readouterr().out


def test_as_json(gguf: Path, capsys: Said) -> None:
    assert main(["models", "get", "default", "--from", str(gguf), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": str(trunk_folder()), "built": NAMES}
    assert main(["models", "get", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"folder": str(trunk_folder()), "built": []}


def test_only_the_damaged_shard_is_built_again(gguf: Path, capsys: Said) -> None:
    assert main(["models", "get", "--from", str(gguf)]) == 0
    shard = trunk_folder() / NAMES[1]
    shard.write_bytes(shard.read_bytes()[:-1])
    capsys.readouterr()
    assert main(["models", "get"]) == 2
    assert main(["models", "get", "--from", str(gguf), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["built"] == NAMES[1:2]
    verify_shards(trunk_folder())


def test_the_shards_that_the_package_brings_are_enough(
    gguf: Path, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["models", "get", "--from", str(gguf)]) == 0
    trunk_folder().rename(tmp_path / "package")
    capsys.readouterr()
    assert main(["models", "get"]) == 0
    assert f"installed with infill-ls and intact: {tmp_path / 'package'}" in capsys.readouterr().out


def test_another_file(gguf: Path, capsys: Said) -> None:
    gguf.write_bytes(gguf.read_bytes()[:-50])
    assert main(["models", "get", "--from", str(gguf)]) == 2
    said = capsys.readouterr().err
    assert f"{gguf} is not the file that the default model is made from" in said
    assert "the download is probably unfinished" in said
    assert main(["models", "get", "--from", f"{gguf}x"]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(gguf: Path, capsys: Said) -> None:
    trunk_folder().parent.parent.mkdir(parents=True)
    trunk_folder().parent.write_text("a file in the way")
    assert main(["models", "get", "--from", str(gguf)]) == 2
    assert f"the weights cannot be written to {trunk_folder()}" in capsys.readouterr().err


def test_other_models_are_not_built(gguf: Path, capsys: Said) -> None:
    assert main(["models", "get", "some/model"]) == 2
    assert "builds the default model, not some/model" in capsys.readouterr().err


def test_a_file_and_a_download_exclude_each_other(gguf: Path) -> None:
    with pytest.raises(SystemExit):
        main(["models", "get", "--from", str(gguf), "--download"])


def download(hub: Hub, home: Path, published: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    paths = [Path(__file__).parents[2] / "infill_engine" / "models" / "trunk", Path(__file__).parents[3]]
    return subprocess.run(
        [sys.executable, "-c", DOWNLOAD, str(home), str(published)],
        env={"PATH": "", "PYTHONPATH": ":".join(map(str, paths)), STATE_DIR: str(home / "state")}
        | hub.environment(home / "cache")
        | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_broken_download_goes_on_and_is_built_from(tmp_path: Path) -> None:
    published = tmp_path / "published" / "tiny.gguf"
    published.parent.mkdir()
    write_gguf(published)
    hub = Hub({"some/tiny-GGUF": published.parent}, cut_after=60_000)
    with serving(hub):
        done = download(hub, tmp_path, published)
        assert (done.returncode, done.stderr) == (0, "")
        assert "fetching tiny.gguf" in done.stdout
        assert "Built 3 files" in done.stdout
        assert hub.cut_after == 0  # the connection broke once
        asked = len(hub.requests)
        assert "already built and intact" in download(hub, tmp_path, published).stdout
        assert len(hub.requests) == asked


def test_a_download_without_a_connection(tmp_path: Path) -> None:
    published = tmp_path / "tiny.gguf"
    write_gguf(published)
    done = download(Hub(endpoint="http://127.0.0.1:9"), tmp_path, published)
    assert done.returncode == 2
    assert "cannot be fetched (Connection refused)" in done.stderr
    assert f"put it into {tmp_path / 'state' / 'models'}" in done.stderr
