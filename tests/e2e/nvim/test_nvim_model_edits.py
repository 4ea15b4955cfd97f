"""Next edits of the default model itself, in a real Neovim: found, taken, and absent where everything is done."""

import time
from collections.abc import Iterator
from itertools import cycle

import pytest
from nvim_editor import Editor, editor
from prepared_models import share_prepared

from lsp_server.suggestions.next_edits.bursts import BULK_SECONDS

SECOND = """\
export function loadOrders(id: string) {
  return fetch(`/users/${id}/orders`).then((response) => response.json());
}
"""
SECOND_AWAITED = """\
export async function loadOrders(id: string) {
  const response = await fetch(`/users/${id}/orders`);
  return response.json();
}
"""
HEAD = "export function loadUser(id: string) {\n"
AWAITED_HEAD = "export async function loadUser(id: string) {\n"
BODY = "  return fetch(`/users/${id}`)\n    .then((response) => response.json());\n"
AWAITED_BODY = "  const response = await fetch(`/users/${id}`);\n  return response.json();\n"
FINISHED = """\
import express from "express";

const app = express();

app.get("/", (request, response) => response.send("hello│"));
app.listen(3000);
"""
MINUTE = 60_000  # milliseconds: these tests do not depend on the speed of the machine
QUIET = 3.0  # seconds
SETTINGS = {"settings": {"explicitBudgetMs": MINUTE, "showThreshold": 0.25}}  # balanced, of the default model


@pytest.fixture(scope="module")
def nvim(neovim: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    folder = tmp_path_factory.mktemp("nvim")
    share_prepared(folder / "infill-ls" / "prepared")
    with editor(folder, SETTINGS) as started:
        started.open("│", "first.py")
        started.ready()
        started.fresh()
        yield started


def proposed(nvim: Editor) -> bool:
    return bool(nvim.lua("return require('infill.next_edit').proposal(vim.api.nvim_get_current_buf())"))


def reason(nvim: Editor) -> str:
    """Why the last answer has no proposal."""
    return str(nvim.lua("return (require('infill.next_edit').silence(vim.api.nvim_get_current_buf()) or {}).reason"))


def test_one_function_is_rewritten_and_the_next_one_follows(nvim: Editor) -> None:
    nvim.open(f"│{HEAD}{BODY}}}\n\n{SECOND}", "api.ts")
    nvim.type("<Esc>:setlocal paste<CR>3cc")
    time.sleep(2 * BULK_SECONDS)  # more at once would be a paste
    nvim.type(f"{AWAITED_HEAD}{AWAITED_BODY}".rstrip("\n").replace("\n", "<CR>") + "<Esc>")
    edited = f"{AWAITED_HEAD}{AWAITED_BODY}}}\n\n{SECOND}"[:-1]
    nvim.until(lambda: nvim.text == edited)
    nvim.until(lambda: proposed(nvim))
    nvim.type("<M-n>")
    if nvim.text == edited:
        nvim.type("<M-n>")
    nvim.until(lambda: nvim.text == edited.replace(SECOND[:-1], SECOND_AWAITED[:-1]))
    nvim.type("u")
    nvim.until(lambda: nvim.text == edited)


def test_a_finished_file_stays_silent_while_the_cursor_moves_through_it(nvim: Editor) -> None:
    nvim.fresh()
    nvim.open(FINISHED, "index.js")
    nvim.type(", world<Esc>")
    nvim.until(lambda: reason(nvim) in ("no_consequence", "low_confidence"))
    end = time.monotonic() + QUIET
    keys = cycle(("j", "G", "k", "gg"))  # Neovim answers nobody while it waits for a second key
    while time.monotonic() < end:
        nvim.type(next(keys))
        time.sleep(0.1)
        assert not proposed(nvim)
