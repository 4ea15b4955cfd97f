"""Engines elsewhere with a real server: llama.cpp's, asked in both ways, with a model whose answers are known."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from toy import PAIRS, answer, share_right, sides

from infill_engine import Deadline, InfillRequest
from infill_engine.engine.remote.address import read_address
from infill_engine.engine.remote.server import Server
from infill_engine.errors import InputError
from infill_engine.serving.starting import load_remote

KEY = "INFILL_API_KEY"
WAYS = ("llama:http://{}", "openai:http://{}/v1#qwen2.5-coder")
both_ways = pytest.mark.parametrize("way", WAYS, ids=["infill", "completions"])


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sesame")


def soon() -> Deadline:
    return Deadline.after_ms(30_000)


@both_ways
def test_the_synthetic_task_is_solved(way: str, address: str) -> None:
    engine = load_remote(way.format(address))

    def first(before: str, behind: str) -> str | None:
        found = engine.answer(InfillRequest(before, behind, drafts=(), candidates=2), soon())
        assert not found.user_message
        return found.candidates[0].text if found.candidates else None

    assert share_right(first, PAIRS[::3]) >= 0.95


@both_ways
def test_the_model_says_how_sure_it_is(way: str, address: str) -> None:
    server = load_remote(way.format(address))
    known, unknown = (
        server.answer(InfillRequest(*text, drafts=()), soon()).candidates for text in (sides(2, 5), ("def f(", "):\n"))
    )
    assert known[0].text == answer(2, 5)
    assert known[0].confidence > max((candidate.confidence for candidate in unknown), default=0.0)


@both_ways
def test_a_wrong_key_is_told(way: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "open")
    found = load_remote(way.format(address)).answer(InfillRequest(*sides(2, 5)), soon())
    assert KEY in found.user_message


def test_its_model_is_listed(address: str) -> None:
    assert len(Server(read_address(WAYS[1].format(address))).models()) == 1
    with pytest.raises(InputError, match="404"):
        Server(read_address(f"openai:http://{address}/elsewhere#m")).models()


@both_ways
def test_on_the_command_line(way: str, address: str, tmp_path: Path) -> None:
    before, behind = sides(2, 5)
    file = tmp_path / "toy.py"
    file.write_text(f"{before}{behind}")
    place = f"{file}:1:{len(before) + 1}"
    command = [sys.executable, "-m", "lsp_server", "complete", "--json", "--budget-ms", "10000"]
    ran = subprocess.run(
        [*command, "--model", way.format(address), place],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    found = json.loads(ran.stdout)
    assert found["candidates"][0]["text"] == answer(2, 5)
    assert found["device"] == address
