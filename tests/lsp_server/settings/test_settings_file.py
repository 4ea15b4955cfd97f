"""The user's settings file: below the editor's settings, above the defaults; and never a reason to stop."""

import json
from pathlib import Path

import pytest
from capabilities import VSCODE
from editor import editor

from infill_engine.errors import InputError
from infill_engine.models.checkpoint.user_data import STATE_DIR, settings_file
from lsp_server.settings.file import measured_reason, over, read_file, write_file


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(STATE_DIR, str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.mark.parametrize(
    ("own", "editor", "together"),
    [
        ({}, {"budgetMs": 80}, {"budgetMs": 80}),
        ({"budgetMs": 200}, None, {"budgetMs": 200}),
        ({"budgetMs": 200}, {}, {"budgetMs": 200}),
        ({"budgetMs": 200, "candidates": 1}, {"budgetMs": 80}, {"budgetMs": 80, "candidates": 1}),
        ({"budgetMs": 200}, {"budgetMs": None}, {"budgetMs": 200}),
        ({"budgetMs": 200}, "nonsense", "nonsense"),
    ],
)
def test_what_the_editor_says_comes_first(own: dict[str, object], editor: object, together: object) -> None:
    assert over(own, editor) == together


def test_what_is_written_is_read() -> None:
    assert read_file() == ({}, "")
    assert measured_reason() == ""
    path = write_file({"model": "scripted", "budgetMs": 120}, {"reason": "It is faster.", "numbers": {"p50": 40}})
    assert path == settings_file()
    assert read_file() == ({"model": "scripted", "budgetMs": 120}, "")
    assert measured_reason() == "It is faster."


def test_other_settings_in_it_are_kept(state: Path) -> None:
    state.mkdir()
    settings_file().write_text(json.dumps({"excludes": ["*.sql"], "budgetMs": 99}))
    write_file({"budgetMs": 120}, {"reason": ""})
    assert read_file()[0] == {"excludes": ["*.sql"], "budgetMs": 120}


@pytest.mark.parametrize("content", ["{", "[1]", "\xff"])
def test_a_broken_file_is_named_and_not_overwritten(state: Path, content: str) -> None:
    state.mkdir()
    settings_file().write_bytes(content.encode("latin-1"))
    settings, warning = read_file()
    assert settings == {}
    assert str(settings_file()) in warning
    with pytest.raises(InputError, match=r"settings\.json"):
        write_file({"budgetMs": 120}, {})
    assert settings_file().read_bytes() == content.encode("latin-1")


def test_a_file_that_cannot_be_written(state: Path) -> None:
    state.write_text("")  # a file where the folder should be
    with pytest.raises(InputError, match="cannot be"):
        write_file({"budgetMs": 120}, {})


SCRIPT = {"rules": [{"before": "", "candidates": ["a()", "b()", "c()"]}]}


async def test_the_server_reads_it() -> None:
    file = json.dumps({"candidates": 1, "budgetMs": 9000, "measured": {"reason": "because"}})
    async with editor(VSCODE, SCRIPT, options={"budgetMs": 8000}, file=file) as made:
        await made.ready()
        found = await made.candidates(made.open("x = │"))
        assert len(found.candidates) == 1  # of the file
        assert found.budgetMs == 8000  # the editor's
        assert made.messages == []


async def test_the_server_says_that_it_is_broken_and_goes_on() -> None:
    async with editor(VSCODE, SCRIPT, options={"budgetMs": 8000}, file="{") as made:
        await made.ready()
        assert (await made.candidates(made.open("x = │"))).candidates
        (message,) = made.messages
        assert "settings.json is not JSON" in message
