"""What no client should send, and how clients leave: the right status, no fault, and the server goes on."""

import asyncio
import contextlib
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from clients import llama_vim, llama_vscode, minuet, ollama, tabby
from http_server import WAIT, Server, serving

GOOD = llama_vim("x = │\n")


def still_answers(server: Server) -> bool:
    return bool(server.post("/infill", GOOD).json["content"] == "alpha(1)")


def check(server: Server, path: str, body: bytes, status: int, message: str) -> None:
    answer = server.send("POST", path, body)
    error = answer.json["error"]
    assert (answer.status, error if isinstance(error, str) else error["message"]) == (status, message)


def test_bodies(server: Server) -> None:
    check(server, "/infill", b"", 400, "The body is not JSON.")
    check(server, "/infill", b'{"prompt": "x = ', 400, "The body is not JSON.")
    check(server, "/infill", b'{"prompt": "x = "} trailing', 400, "The body is not JSON.")
    check(server, "/infill", b'{"a": ' + b"[" * 200_000, 400, "The body does not fit: it is nested too deeply")
    check(server, "/infill", b"[]", 400, "The body does not fit: Expected `object`, got `array`")
    check(
        server, "/infill", b'{"n_cmpl": [1]}', 400, "The body does not fit: Expected `int`, got `array` - at `$.n_cmpl`"
    )
    check(server, "/v1/completions", b"{}", 400, "The body does not fit: Object missing required field `prompt`")
    check(
        server,
        "/v1/completions",
        b'{"prompt": [1, 2]}',
        400,
        "The body does not fit: Expected `str`, got `int` - at `$.prompt[0]`",
    )
    check(
        server,
        "/v1/completions",
        b'{"prompt": ["a", "b"]}',
        400,
        "prompt must be a single text; send a request for each prompt",
    )
    check(
        server,
        "/v1/completions",
        b'{"segments": {}}',
        400,
        "The body does not fit: Object missing required field `prefix` - at `$.segments`",
    )
    check(server, "/api/generate", b"nonsense", 400, "The body is not JSON.")
    assert still_answers(server)


def test_a_text_is_not_in_an_error(server: Server) -> None:
    for body in (
        b'{"prompt": "secret text',
        b'{"prompt": {"secret text": 1}}',
        b'{"secret text": 1, "n_cmpl": "secret text"}',
    ):
        assert b"secret" not in server.send("POST", "/infill", body).body
    assert "secret" not in server.log.read_text()


def test_unknown_fields_and_odd_values(server: Server) -> None:
    odd = {**GOOD, "unknown": {"a": [1]}, "n_cmpl": 1.0, "t_max_predict_ms": 5000.5, "input_extra": None, "stop": None}
    assert server.post("/infill", odd).json["content"] == "alpha(1)"
    assert server.post("/infill", {**GOOD, "n_cmpl": 10_000}).status == 200
    assert server.post("/infill", {**GOOD, "n_cmpl": -5}).json["content"] == "alpha(1)"
    assert server.post("/infill", {**GOOD, "t_max_predict_ms": -1}).json["content"] == ""
    assert server.post("/infill", {**GOOD, "n_indent": 10**9, "prompt": ""}).status == 200
    assert (
        server.post("/infill", {**GOOD, "response_fields": ["content", "content/x", "no", "/", "timings"]}).status
        == 200
    )
    assert server.post("/v1/completions", minuet("x = │\n", suffix=None, n=None, stream=None, stop=None)).status == 200
    assert server.post("/infill", {}).status == 200


def test_characters_that_an_editor_has_cut(server: Server) -> None:
    """JavaScript escapes half of a pair; Vim sends bytes of another encoding as they are."""
    half = json.dumps({**GOOD, "input_prefix": "a = '@'\n"}).replace("@", "\\ud83d").encode()
    assert server.send("POST", "/infill", half).json["content"] == "alpha(1)"
    latin = json.dumps({**GOOD, "input_prefix": "a = '@'\n"}).encode().replace(b"@", b"\xe9")
    assert server.send("POST", "/infill", latin).json["content"] == "alpha(1)"


def test_methods_and_paths(server: Server) -> None:
    assert server.get("/infill").status == 405
    assert server.send("PUT", "/v1/completions", b"{}").status == 405
    assert server.post("/health", {}).status == 405
    assert server.post("/nothing", {}).status == 404
    assert server.post("/v1/chat/completions", {}).status == 404
    assert server.get("/../../etc/passwd").status == 404
    assert server.get("/" + "a" * 100_000).status in (404, 400)


def test_web_pages_and_names_of_others(server: Server) -> None:
    assert server.post("/infill", GOOD, {"Origin": "https://example.org"}).status == 403
    assert server.post("/infill", GOOD, {"Host": "rebound.example.org"}).status == 400
    assert server.post("/infill", GOOD, {"Host": "localhost:8012"}).status == 200


def test_too_much(server: Server) -> None:
    with contextlib.suppress(ConnectionError):  # the answer may come before all was sent
        assert server.send("POST", "/infill", b"x" * 10_000_000).status == 413
    head = b"POST /infill HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b" 413 " in talk(
        server, head + b"100000\r\n" + b"x" * 0x100000 + b"\r\n" + (b"400000\r\n" + b"x" * 0x400000 + b"\r\n")
    )
    assert still_answers(server)


CHUNKED = b"POST /infill HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    "head",
    [
        CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\nGET /health",
        b"POST /infill HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /infill HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nabcde",
        b"POST /infill HTTP/1.1\r\nHost: localhost\r\nContent-Length : 5\r\n\r\nabcde",
        CHUNKED + b"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        CHUNKED + b"\r\nzz\r\n{}\r\n0\r\n\r\n",
        b"POST /infill HTTP/1.1\r\nHost: localhost\r\n X: folded\r\n\r\n",
        b"GET /health HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
    ],
)
def test_requests_that_two_servers_would_read_differently(server: Server, head: bytes) -> None:
    said = talk(server, head)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert said.count(b"HTTP/1.1") == 1
    assert still_answers(server)


def talk(server: Server, data: bytes) -> bytes:
    """What comes back until the server closes the connection, or has answered."""
    with socket.create_connection(server.address, timeout=WAIT) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        said = b""
        with contextlib.suppress(ConnectionError):
            while more := connection.recv(65_536):
                said += more
        return said


def test_slow_and_half_requests(server: Server) -> None:
    body = json.dumps(GOOD).encode()
    head = f"POST /infill HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        connect = lambda: stack.enter_context(socket.create_connection(server.address, timeout=WAIT))  # noqa: E731
        half, slow, gone = connect(), connect(), connect()
        half.sendall(head + body[:10])
        gone.sendall(head + body[:10])
        gone.close()
        for byte in head + body:
            slow.sendall(bytes([byte]))
        assert still_answers(server)
        answer = b""
        while b"alpha(1)" not in answer and (more := slow.recv(65_536)):
            answer += more
        assert b"alpha(1)" in answer


def test_clients_that_leave(tmp_path: Path) -> None:
    """Their requests end although the engine has not answered them, and others are answered."""
    script = {"rules": [{"before": " = ", "candidates": ["alpha(1)"]}], "steps": 4, "step_ms": 3_000}
    with serving(tmp_path, script=script) as server:
        server.ready()
        with contextlib.ExitStack() as stack:
            for number in range(10):
                body = json.dumps(llama_vim(f"v{number} = │\n", t_max_predict_ms=60_000)).encode()
                head = f"POST /infill HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                connection = stack.enter_context(socket.create_connection(server.address, timeout=WAIT))
                connection.sendall(head + body)
            time.sleep(0.5)  # for the server to read them: one that it has not read needs no ending
        end = time.monotonic() + WAIT
        while 'path="/infill",status="499"} 10.0' not in server.get("/metrics").body.decode():
            assert time.monotonic() < end
            time.sleep(0.05)
        assert server.post("/infill", llama_vim("x = │\n", t_max_predict_ms=100)).status == 200


def test_two_hundred_clients_at_once(server: Server) -> None:
    """All are answered: some by each protocol, and everyone with what belongs to their text."""
    asks = [
        lambda: server.post("/infill", llama_vim("x = │\n")).json["content"],
        lambda: server.post("/infill", llama_vscode("x = │\n")).json[0]["content"],
        lambda: server.post("/v1/completions", minuet("x = │\n", temperature=0)).events[0]["choices"][0]["text"],
        lambda: server.post("/v1/completions", tabby("x = │\n")).json["choices"][0]["text"],
        lambda: server.post("/api/generate", ollama("x = │\n", stream=False)).json["response"],
    ]
    with ThreadPoolExecutor(200) as pool:
        found = [each.result() for each in [pool.submit(asks[number % 5]) for number in range(200)]]
    assert found == ["alpha(1)"] * 200


async def test_two_hundred_texts_at_once(server: Server) -> None:
    async def ask(number: int) -> str:
        marked = f"v{number} = {number}\nx = │\n"
        answer = await asyncio.to_thread(server.post, "/infill", llama_vim(marked, t_max_predict_ms=60_000))
        return str(answer.json["content"])

    assert await asyncio.gather(*map(ask, range(200))) == ["alpha(1)"] * 200
