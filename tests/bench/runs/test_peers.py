"""Programs of others: found or named, asked over a real socket, and quoted if they end."""

import stat
import sys
from pathlib import Path

import pytest

from bench.peers.finding import find_peers
from bench.peers.generating import PACKAGES, Generating
from bench.peers.llama_server import VARIABLE, LlamaServer
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.systems import Setting
from infill_engine.errors import InputError, ModelError

PROBLEM = Problem("a", "line", "python", "def f(x):\n    return ", "\n", "x + 1")
SERVER = """#!{python}
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if not os.path.isabs(options["--model"]):
    sys.exit("the path of the model is not absolute")

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({{}})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "{what}" == "ends" and asked["n_predict"] > 4:
            print("some progress", flush=True)
            print("terminate called: out of memory", file=sys.stderr, flush=True)
            os._exit(7)
        self.reply({{"content": "x + 1", "tokens_predicted": 3, "timings": {{"prompt_ms": 2.5}}}})

    def reply(self, value):
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass

if "{what}" == "refuses":
    sys.exit("error: failed to load model\\n")
HTTPServer(("127.0.0.1", int(options["--port"])), Handler).serve_forever()
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the peer's stand-in is a script")


def server(folder: Path, what: str) -> LlamaServer:
    path = folder / "llama-server"
    path.write_text(SERVER.format(python=sys.executable, what=what))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (folder / "model.gguf").write_bytes(b"GGUF")
    peers, _ = find_peers(str(path), str(folder / "model.gguf"))
    return next(peer for peer in peers if isinstance(peer, LlamaServer))


def test_a_peer_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    server(tmp_path, "answers")
    peers, _ = find_peers("./llama-server", "model.gguf")  # the peer is given absolute paths all the same
    peer = next(each for each in peers if isinstance(each, LlamaServer))
    try:
        answered = peer.answer(PROBLEM, Setting(4, 150.0))
        assert answered.texts == ("x + 1",)
    finally:
        peer.close()


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("refuses", r"status 1 on .*model\.gguf; it said: error: failed to load model"),
        ("ends", r"status 7 on .*model\.gguf; it said: terminate called: out of memory"),
    ],
)
def test_the_last_message_of_a_peer_that_ends_is_quoted(tmp_path: Path, what: str, said: str) -> None:
    peer = server(tmp_path, what)
    try:
        with pytest.raises(ModelError, match=said):
            peer.answer(PROBLEM, Setting(1, 150.0))
    finally:
        peer.close()


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    peers, missing = find_peers(None, None)
    assert peers == ()
    assert dict(missing) == {
        "llama.cpp": "llama-server is not on the PATH; give it with --llama-server",
        "transformers": "give the default model's published file with --gguf",
    }
    with pytest.raises(InputError, match=r"none cannot be run; give the path"):
        find_peers(str(tmp_path / "none"), None)
    with pytest.raises(InputError, match=r"none\.gguf does not exist"):
        find_peers(None, str(tmp_path / "none.gguf"))


@pytest.mark.parametrize(
    ("installed", "said"),
    [({"transformers"}, "pip install accelerate"), (set(), "pip install transformers accelerate"), (set(PACKAGES), "")],
)
def test_packages_that_transformers_needs_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: set[str], said: str
) -> None:
    monkeypatch.setattr(f"{find_peers.__module__}.find_spec", lambda name: name if name in installed else None)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    found, missing = find_peers(None, str(tmp_path / "model.gguf"))
    assert dict(missing).get("transformers", "").rpartition(": ")[2] == said
    assert any(isinstance(each, Generating) for each in found) == (not said)
