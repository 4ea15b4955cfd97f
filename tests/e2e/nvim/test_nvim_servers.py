"""Neovim with servers and engines that load, answer late or not at all, die, or are missing."""

import re
import sys
import time

import psutil
import pytest
from nvim_editor import SERVER, WAIT, Editor, Start


def test_the_engine_dies_while_ghost_text_is_shown(nvim: Editor) -> None:
    nvim.offered("x = │", "alpha(1)")
    children = psutil.Process().children(recursive=True)
    killed = [process for process in children if "infill_engine.serving" in process.cmdline()]
    for process in killed:
        process.kill()
    assert killed
    nvim.until(lambda: nvim.state()["state"] == "loading")
    assert nvim.ghost() == "alpha(1)"
    nvim.type("<Tab>")
    nvim.until_marked("x = alpha(1)│")
    nvim.until(lambda: nvim.state()["state"] == "ready")
    nvim.type("<CR>y = ")
    nvim.until_ghost("other")
    assert sum("being restarted" in message for message in nvim.messages) <= 1


def test_loading_then_slow(start: Start) -> None:
    """0.6 s for an answer: what has been typed meanwhile decides whether it is shown."""
    rules = [{"before": "x = ", "candidates": ["alpha(1)"]}, {"before": "x = al", "candidates": ["pha(1)"]}]
    script = {"rules": rules, "load_ms": 800, "step_ms": 600}
    with start({"settings": {"budgetMs": 3000}}, script) as nvim:
        nvim.open("x = │")
        nvim.until(lambda: nvim.status().startswith("infill loading"))
        nvim.until(lambda: re.fullmatch(r"infill loading \d+/100", nvim.status()))
        nvim.until(lambda: nvim.status() == "infill ready")

        nvim.until_ghost("alpha(1)")  # though nothing has been typed since it was asked for in vain

        nvim.type("<CR>x = ")
        nvim.until(lambda: nvim.status() == "infill thinking")
        nvim.type("q")
        nvim.until_marked("x = \nx = q│")
        shown = set()
        nvim.until(lambda: shown.add(nvim.ghost()) or nvim.status() == "infill silent: nothing to add")
        assert shown == {None}

        nvim.type("<CR>x = ")
        nvim.until(lambda: nvim.status() == "infill thinking")
        nvim.type("al")
        nvim.until_ghost("pha(1)")
        nvim.type("<Tab>")
        nvim.until_marked("x = \nx = q\nx = alpha(1)│")


HOLD = """
local client = vim.lsp.get_clients()[1]
local request = client.rpc.request
_G.held = {}
client.rpc.request = function(method, params, callback, notify)
  if method ~= 'textDocument/inlineCompletion' then
    return request(method, params, callback, notify)
  end
  table.insert(_G.held, function(texts)
    local range = { start = params.position, ['end'] = params.position }
    local items = vim.tbl_map(function(text) return { insertText = text, range = range } end, texts or {})
    callback(nil, texts and { items = items } or nil, 1)
  end)
  return true, 4711 + #_G.held
end
"""


def test_answers_in_any_order(start: Start) -> None:
    """An answer is shown when it fits what has been typed since, and never in place of a newer one's."""
    with start({}, {"rules": []}) as nvim:
        nvim.open("│")
        nvim.ready()
        nvim.lua(HOLD)

        def asked(count: int) -> None:
            nvim.until(lambda: nvim.lua("return #_G.held") == count)

        nvim.type("v = ")
        asked(1)
        nvim.type("on")
        asked(2)
        nvim.lua("_G.held[1]({ 'one()' })")
        assert nvim.ghost() is None, "a newer one is on its way"
        nvim.lua("_G.held[2]({ 'ly()' })")
        assert nvim.ghost() == "ly()"
        nvim.lua("_G.held[1]({ 'one()' })")
        assert nvim.ghost() == "ly()", "too late"

        nvim.type("l")
        asked(3)
        assert nvim.ghost() == "y()"
        nvim.lua("_G.held[3](nil)")
        assert nvim.ghost() == "y()", "null changes nothing"
        nvim.type("x")
        nvim.until_ghost(None)
        asked(4)
        nvim.type("y")
        nvim.until_marked("v = onlxy│")
        nvim.lua("_G.held[4]({ 'z()', 'ya' })")
        assert nvim.ghost() == "a", "the one that has been typed into since"
        nvim.type("<Tab>")
        nvim.until_marked("v = onlxya│")


def test_a_missing_server_is_told_once(start: Start) -> None:
    with start({"cmd": ["/nowhere/infill-ls"]}) as nvim:
        for name in ("one.py", "two.py"):
            nvim.command(f"edit {nvim.write('x = ', name)}")
        told = [message for message in nvim.messages if "infill" in message and "installed" in message]
        assert len(told) == 1
        assert "/nowhere/infill-ls" in told[0]
        assert "cmd" in told[0]
        assert nvim.status() == ""
        nvim.command("inoremap <Tab> ⇥")
        nvim.type("Ax<Tab>")
        nvim.until_marked("x = x⇥│")
        nvim.type("<Esc>")
        nvim.command("checkhealth infill")
        assert "not installed, or not on the PATH" in nvim.text


ANSWER = r"""
import json, sys
while True:
    length = 0
    while (line := sys.stdin.buffer.readline().strip()):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    if not length:
        break
    message = json.loads(sys.stdin.buffer.read(length))
    if "id" in message:
        result = {"capabilities": {"inlineCompletionProvider": {}}, "serverInfo": INFO}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()
    if message.get("method") == "exit":
        break
"""


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("import sys; sys.exit('no such module')", "ended as it started"),
        (f"INFO = {{'name': 'another-ls', 'version': '9.0'}}\n{ANSWER}", 'starts "another-ls"'),
    ],
)
def test_a_server_that_does_not_fit_is_told_once(start: Start, program: str, told: str) -> None:
    with start({"cmd": [sys.executable, "-c", program]}) as nvim:
        for name in ("one.py", "two.py"):
            nvim.command(f"edit {nvim.write('x = ', name)}")
            nvim.until(lambda: any(told in message for message in nvim.messages))
        assert sum(told in message for message in nvim.messages) == 1


def test_a_server_that_never_answers_is_ended_and_told_of(start: Start) -> None:
    with start({"cmd": [sys.executable, "-c", "import time; time.sleep(3600)"]}) as nvim:
        nvim.lua("require('infill.server').patience = 300")
        for name in ("one.py", "two.py"):
            nvim.command(f"edit {nvim.write('x = ', name)}")
            nvim.type("A1<Esc>")
            nvim.until_marked("x = │1")
            nvim.command("write")
            nvim.until(lambda: not hanging())
            assert (nvim.folder / name).read_text() == "x = 1\n"
        told = [message for message in nvim.messages if "has not answered within 0.3 s" in message]
        assert len(told) == 1
        assert ":Infill restart" in told[0]
        nvim.lua("require('infill.server').patience = 20000")
        nvim.lua("vim.lsp.config('infill_ls', { cmd = ... })", SERVER)
        nvim.command("Infill restart")
        nvim.attached()


def test_a_server_that_has_not_answered_ends_with_the_editor(start: Start) -> None:
    with start({"cmd": [sys.executable, "-c", "import time; time.sleep(3600)"]}) as nvim:
        nvim.command(f"edit {nvim.write('x = ', 'one.py')}")
        servers = nvim.until(hanging)
        assert nvim.lua("return require('infill.status').lines()") == ["infill is starting"]
    end = time.monotonic() + WAIT
    while any(runs(server, "time.sleep(3600)") for server in servers):
        assert time.monotonic() < end, "the server outlives the editor"
        time.sleep(0.1)


def hanging() -> list[psutil.Process]:
    """The servers that never answer."""
    return [process for process in psutil.Process().children(recursive=True) if runs(process, "time.sleep(3600)")]


def runs(process: psutil.Process, words: str) -> bool:
    """Whether a process is alive, with these words in its command line."""
    try:
        return words in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False
