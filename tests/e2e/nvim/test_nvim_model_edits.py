"""Next edits of the default model itself, in a real Neovim: found, taken, and absent where everything is done."""

import time
from collections.abc import Iterator

import pytest
from nvim_editor import Editor, Start

from lsp_server.suggestions.next_edits.bursts import BULK_SECONDS

SECOND = """\
export function loadOrders(id: string) {
  return fetch(`/users/${id}/orders`)
    .then((response) => response.json());
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
MINUTE = 60_000  # milliseconds: these tests do not depend on the speed of the machine
QUIET = 3.0  # seconds


@pytest.fixture
def nvim(start: Start) -> Iterator[Editor]:
    with start({"settings": {"rewriteBudgetMs": MINUTE}}) as started:
        yield started


def proposed(nvim: Editor) -> bool:
    return bool(nvim.lua("return require('infill.next_edit').proposal(vim.api.nvim_get_current_buf())"))


def answered(nvim: Editor) -> str:
    """Wait for an answer without a proposal. Returns the reason."""
    return str(nvim.until(lambda: nvim.lua("return require('infill.next_edit').reason(vim.api.nvim_get_current_buf())")))


def test_one_function_is_rewritten_and_the_next_one_follows(nvim: Editor) -> None:
    nvim.open(f"│{HEAD}{BODY}}}\n\n{SECOND}", "api.ts")
    nvim.ready()
    nvim.type("<Esc>:setlocal paste<CR>3cc")
    time.sleep(BULK_SECONDS)  # more at once would be a paste
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
    text = f"{AWAITED_HEAD}{AWAITED_BODY}}}\n\n{SECOND_AWAITED}"
    nvim.open(text.replace("users", "user│s", 1), "api.ts")
    nvim.ready()
    nvim.type("<Esc>A // the user<Esc>")
    assert answered(nvim) in ("no_consequence", "low_confidence")
    end = time.monotonic() + QUIET
    while time.monotonic() < end:
        nvim.type("j" if int(end) % 2 else "G")
        time.sleep(0.1)
        assert not proposed(nvim)
