"""Who may connect: keys, encryption, and what the command line refuses."""

import subprocess
import sys
from pathlib import Path

import pytest
from clients import llama_vim
from http_server import Server, certified, serving

from infill_engine.engine.remote.address import is_this_machine
from lsp_server.__main__ import main
from lsp_server.http.access import Access

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


def test_an_address_of_other_machines_with_keys(keys: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--host", "0.0.0.0", "--plain-http", "--api-key-file", str(keys)) as server:
        server.ready()
        assert server.post("/infill", GOOD, bearer(KEY) | {"Host": "team.example.org"}).status == 200


REFUSED = [
    ("--host 0.0.0.0", "give --api-key-file"),
    ("--host :: --plain-http", "give --api-key-file"),
    ("--host 0.0.0.0 --api-key-file keys", "--plain-http"),
    ("--api-key-file readable", "chmod 600"),
    ("--api-key-file short", "at least 16 characters"),
    ("--api-key-file absent", "cannot be read"),
    ("--tls-key keys", "give both"),
    ("--tls-key keys --tls-certificate absent", "does not exist"),
    ("--tls-key short --tls-certificate short", "not a certificate"),
]


@pytest.mark.parametrize(("options", "said"), REFUSED)
def test_what_is_refused(
    keys: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: str, said: str
) -> None:
    monkeypatch.chdir(keys.parent)
    for name, content, mode in (("readable", KEY, 0o644), ("short", "1234\n", 0o600)):
        Path(name).write_text(content)
        Path(name).chmod(mode)
    assert main(["serve", "--http", "--port", "0", *options.split()]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err


@pytest.mark.parametrize("host", ["127.0.0.1", "nowhere.invalid"])
def test_an_address_that_cannot_be_had(keys: Path, server: Server, host: str) -> None:
    command = [sys.executable, "-m", "lsp_server", "serve", "--http", "--host", host, "--port", str(server.address[1])]
    options = ["--plain-http", "--api-key-file", str(keys)]
    ran = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ("choose another" if host == "127.0.0.1" else "cannot be used") in ran.stderr


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        *((here, True) for here in ("127.0.0.1", "127.1.2.3", "::1", "localhost")),
        *((other, False) for other in ("0.0.0.0", "::", "192.168.0.1", "example.org", "localhost.example.org")),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_this_machine(host) is expected


def test_a_key_is_a_whole_one() -> None:
    assert Access("", 0).allows("")
    assert not Access("", 0, (b"0" * 32,)).allows("Bearer 0")
