"""A real llama.cpp server with a tiny model. Without one the tests are skipped, loudly; with INFILL_E2E=1 they fail."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from bench.families import fim

HERE = Path(__file__).parent
TOY = HERE.parents[1] / "infill_engine" / "models"
sys.path.append(str(TOY))
from llama_model import HOME, write_model  # noqa: E402  (it is made of the toy language)

SECONDS = 60


@pytest.fixture(scope="session")
def llama_server() -> str:
    """The command that starts llama.cpp's server."""
    environment = {**os.environ, "PYTHON": sys.executable}
    try:
        ran = subprocess.run(
            [str(HERE / "setup")], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        reason = ran.stderr.strip() if ran.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as fault:
        reason = str(fault)
    if not reason:
        return ran.stdout.strip()
    if os.environ.get("INFILL_E2E") == "1":
        pytest.fail(f"no llama.cpp server to test with: {reason}")
    pytest.skip(f"NO LLAMA.CPP SERVER, so engines elsewhere were tested with stand-ins only: {reason}")


@pytest.fixture(scope="session")
def address(llama_server: str) -> Iterator[str]:
    """Host and port of a server whose model has learnt the toy language."""
    sources = [HERE / "llama_model.py", TOY / "toy.py", Path(fim.__file__)]
    digest = sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    model = HOME / f"toy-{digest}.gguf"
    if not model.is_file():
        unfinished = model.with_suffix(f".{os.getpid()}")
        write_model(unfinished)
        unfinished.replace(model)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--model",
        model,
        "--port",
        port,
        "--parallel",
        4,
        "--ctx-size",
        2048,
        "--threads",
        1,
        "--api-key",
        "sesame",
    ]
    with (HOME / "server.log").open("wb") as log:
        server = subprocess.Popen([llama_server, *map(str, options)], stdout=log, stderr=log)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", server)
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(SECONDS)


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(SECONDS * 20):
        if server.poll() is not None:
            pytest.fail(f"llama.cpp's server ended at once; see {HOME / 'server.log'}")
        try:
            with urllib.request.urlopen(url, timeout=SECONDS):
                return
        except OSError:
            time.sleep(0.05)
    pytest.fail(f"llama.cpp's server did not come up; see {HOME / 'server.log'}")
