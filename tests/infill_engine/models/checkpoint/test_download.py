"""One file over a real HTTP connection: what breaks off is continued, and every failure says what to do."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hub_server import Hub, serving

from infill_engine.errors import ModelError
from infill_engine.models.checkpoint import download
from infill_engine.models.checkpoint.download import address_of, fetch_file

CONTENT = bytes(range(256)) * 4000
NAME = "some/model"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "file.gguf").write_bytes(CONTENT)
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    made = Hub({NAME: tmp_path / "published"})
    with serving(made):
        monkeypatch.setenv(download.ENDPOINT, made.endpoint)
        yield made


def fetched(tmp_path: Path, said: list[tuple[str, float]] | None = None, more_bytes: int = 0) -> bytes:
    path = tmp_path / "here" / "file.gguf"
    said = [] if said is None else said
    address = address_of(NAME, "file.gguf")
    fetch_file(address, path, len(CONTENT), more_bytes, lambda doing, share: said.append((doing, share)))
    return path.read_bytes()


def test_a_file_is_fetched_once(hub: Hub, tmp_path: Path) -> None:
    said: list[tuple[str, float]] = []
    assert fetched(tmp_path, said) == CONTENT
    assert said[-1] == ("fetching file.gguf, 1 of 1 MB", 1.0)
    assert [path.name for path in (tmp_path / "here").iterdir()] == ["file.gguf"]
    asked = len(hub.requests)
    assert fetched(tmp_path) == CONTENT
    assert len(hub.requests) == asked


def test_a_connection_that_breaks_is_continued(hub: Hub, tmp_path: Path) -> None:
    hub.cut_after = 600_000
    assert fetched(tmp_path) == CONTENT
    (resumed,) = [request for request in hub.requests if request.startswith("RANGE")]
    assert 0 < int(resumed.split()[-1]) <= 600_000


def test_what_an_earlier_attempt_left_is_continued(hub: Hub, tmp_path: Path) -> None:
    partial = tmp_path / "here" / "file.gguf.part"
    partial.parent.mkdir()
    partial.write_bytes(CONTENT[:500_000])
    assert fetched(tmp_path) == CONTENT
    assert "RANGE file.gguf 500000" in hub.requests


def test_a_server_that_knows_no_ranges_sends_it_anew(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    partial = tmp_path / "here" / "file.gguf.part"
    partial.parent.mkdir()
    partial.write_bytes(b"?" * 500_000)
    plain = download.urllib.request.Request
    monkeypatch.setattr(download.urllib.request, "Request", lambda address, headers: plain(address))
    assert fetched(tmp_path) == CONTENT


def no_network(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(download.ENDPOINT, "http://127.0.0.1:9")


def offline(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(download.OFFLINE, "1")


def gone(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.models.clear()


def too_full(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=5_000_000))


def full(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = download._opened

    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, chunk: bytes) -> int:
            if self.file.tell() > 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return int(self.file.write(chunk))

    monkeypatch.setattr(download, "_opened", lambda path, mode: Full(opened(path, mode)))


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (
            no_network,
            (
                "Connection refused",
                "what was received is kept",
                "file.gguf yourself from http://127.0.0.1:9/some/model",
            ),
        ),
        (offline, ("HF_HUB_OFFLINE forbids", "put it into")),
        (gone, ("answers 404", "put it into")),
        (too_full, ("make room for 996 MB more in",)),
        (full, ("the disk is full", "what was received is kept")),
    ],
)
def test_failures_say_what_to_do(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happens: Any, said: tuple[str, ...]
) -> None:
    happens(hub, monkeypatch)
    with pytest.raises(ModelError) as failure:
        fetched(tmp_path, more_bytes=1_000_000_000 if happens is too_full else 0)
    for part in said:
        assert part in str(failure.value)
    if happens is full:
        assert (tmp_path / "here" / "file.gguf.part").stat().st_size > 0


def test_a_folder_that_cannot_be_written(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "here").write_text("a file in the way")
    with pytest.raises(ModelError, match="cannot be written"):
        fetched(tmp_path)
    assert os.listdir(tmp_path / "published") == ["file.gguf"]
