"""`:Infill download` in a real Neovim: progress, a connection that breaks, cancelling, no network, the switch."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from downloads import FILE, PROGRAM, Hub, published
from nvim_editor import Editor, Start


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with published(tmp_path / "published") as made:
        yield made


@pytest.fixture
def bare(start: Start, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Editor]:
    """Neovim on a machine without the default model."""
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("INFILL_STATE_DIR", str(tmp_path / "state"))
    with start({"cmd": [sys.executable, str(PROGRAM), str(tmp_path / "published" / FILE)]}) as nvim:
        nvim.open("x = │")
        nvim.ready()
        assert nvim.state()["model"] == "retrieval"
        yield nvim


def said(nvim: Editor, part: str) -> bool:
    return any(part in message for message in nvim.messages)


def health(nvim: Editor) -> str:
    nvim.type("<Esc>")
    nvim.command("checkhealth infill")
    text = nvim.text
    nvim.command("bwipeout!")
    return text


def test_a_download_that_breaks_once_is_used_without_a_restart(bare: Editor, hub: Hub) -> None:
    assert ":Infill download fetches it: tiny.gguf" in health(bare)
    hub.cut_after = 60_000
    client = bare.lua("return vim.lsp.get_clients()[1].id")
    bare.command("Infill download")
    bare.until(lambda: bare.state().get("model") == "whole")
    assert said(bare, "It is used as soon as it is loaded")
    assert any(request.startswith("RANGE") for request in hub.requests)
    assert bare.lua("return vim.lsp.get_clients()[1].id") == client
    assert "Infill download" not in health(bare)
    bare.type("A1")
    bare.until(bare.ghost)


def test_it_shows_how_far_it_is_and_can_be_cancelled(bare: Editor, hub: Hub, tmp_path: Path) -> None:
    hub.stalls_after = 100_000
    bare.command("Infill download")
    bare.until(lambda: bare.status() not in ("infill ready", "infill downloading 0/100"))
    assert bare.status().startswith("infill downloading ")
    bare.type("1")
    bare.until(bare.ghost)  # completions go on
    bare.command("Infill cancel-download")
    bare.until(lambda: said(bare, "What was received is kept"))
    assert bare.status() == "infill ready"
    assert (tmp_path / "state" / "models" / f"{FILE}.part").stat().st_size == 100_000
    hub.go_on.set()
    bare.command("Infill download")
    bare.until(lambda: bare.state().get("model") == "whole")
    assert f"RANGE {FILE} 100000" in hub.requests


def test_without_a_network_it_says_which_file_to_put_where(bare: Editor, hub: Hub, tmp_path: Path) -> None:
    hub.models.clear()
    bare.command("Infill download")
    bare.until(lambda: said(bare, f"put it into {tmp_path / 'state' / 'models'}"))
    (tmp_path / "state" / "models" / FILE).write_bytes((tmp_path / "published" / FILE).read_bytes())
    bare.command("Infill download")
    bare.until(lambda: bare.state().get("model") == "whole")
