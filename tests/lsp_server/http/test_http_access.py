"""Who may connect: keys, encryption, and what the command line refuses."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from clients import llama_vim
from http_server import Server, certified, serving

from lsp_server.http.access import Access, is_loopback

KEY, OTHER = "a-key-of-somebody", "another-key-of-a-team"
GOOD = llama_vim("x = │\n")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(f"# who has which key\nalice {KEY}\n\nbob   {OTHER}\n")
    path.chmod(0o600)
    return path


def test_keys(keys: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--api-key-file", str(keys)) as server:
        server.ready()  # a health check needs no key
        for headers in ({}, bearer(""), bearer(KEY[:-1]), bearer(KEY + "x"), bearer("alice"), {"Authorization": KEY}):
            answer = server.post("/infill", GOOD, headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        for path in ("/metrics", "/props", "/v1/models", "/v1/health", "/openapi.json"):
            assert (server.get(path).status, server.get(path, bearer(KEY)).status) == (401, 200)
        for key in (KEY, OTHER):
            assert server.post("/infill", GOOD, bearer(key)).json["content"] == "alpha(1)"
        assert KEY not in server.log.read_text()


def test_encryption(keys: Path, tmp_path: Path) -> None:
    encrypted, trusting = certified(tmp_path)
    options = (*encrypted, "--api-key-file", str(keys))
    with serving(tmp_path, *options, tls=trusting) as server:
        assert server.url.startswith("https://")
        server.ready()
        assert server.post("/infill", GOOD, bearer(KEY)).json["content"] == "alpha(1)"
        plain = Server(server.url, server.process, server.log)
        with pytest.raises((OSError, ValueError)):
            plain.get("/health")


def test_addresses_of_other_machines_need_keys_and_encryption(keys: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0", "--plain-http", "--api-key-file", str(keys)) as server:
        server.ready()
        assert server.post("/infill", GOOD, bearer(KEY) | {"Host": "team.example.org"}).status == 200

    def refused(*options: str) -> str:
        command = [sys.executable, "-m", "lsp_server", "serve", "--http", "--port", "0", *options]
        environment = {**os.environ, "INFILL_STATE_DIR": str(tmp_path)}
        ran = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
        assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
        return ran.stderr

    readable = tmp_path / "readable"
    readable.write_text(KEY)
    readable.chmod(0o644)
    short = tmp_path / "short"
    short.write_text("1234\n")
    short.chmod(0o600)
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    own = ("--api-key-file", str(keys))
    assert "give --api-key-file" in refused("--host", "0.0.0.0")
    assert "give --api-key-file" in refused("--host", "::", "--plain-http")
    assert "--plain-http" in refused("--host", "0.0.0.0", *own)
    assert "chmod 600" in refused("--api-key-file", str(readable))
    assert "at least 16 characters" in refused("--api-key-file", str(short))
    assert "cannot be read" in refused("--api-key-file", str(tmp_path / "absent"))
    assert "give both" in refused("--tls-key", str(keys))
    assert "does not exist" in refused("--tls-key", str(keys), "--tls-certificate", str(tmp_path / "absent"))
    assert "not a certificate" in refused("--tls-key", str(nonsense), "--tls-certificate", str(nonsense))
    assert "cannot be used" in refused("--host", "nowhere.invalid", "--plain-http", *own)


def test_a_port_that_is_taken(tmp_path: Path, server: Server) -> None:
    command = [sys.executable, "-m", "lsp_server", "serve", "--http", "--port", str(server.address[1])]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert "choose another" in ran.stderr


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *[("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True)],
        *[
            ("0.0.0.0", False),
            ("::", False),
            ("192.168.0.1", False),
            ("example.org", False),
            ("localhost.example.org", False),
        ],
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_a_key_is_a_whole_one() -> None:
    assert Access("", 0).allows("")
    assert not Access("", 0, (b"0" * 32,)).allows("Bearer 0")
