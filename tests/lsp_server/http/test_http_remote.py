"""A machine of its own for the editor: a network namespace, from which only a forwarded port leads here."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from clients import llama_vim
from http_server import WAIT, Server, serving

ELSEWHERE = ("unshare", "--map-root-user", "--net")
PORT = 8012
# As sshd does for `ssh -R 8012:127.0.0.1:8012`: what connects to the port there comes out of the other end here.
FAR_END = f"""
import asyncio, subprocess, sys

async def passed_on(reader, writer):
    inner, outer = await asyncio.open_unix_connection(sys.argv[1])
    await asyncio.gather(copied(reader, outer), copied(inner, writer))

async def copied(source, sink):
    while data := await source.read(65_536):
        sink.write(data)
        await sink.drain()
    sink.close()

async def main():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    async with await asyncio.start_server(passed_on, "127.0.0.1", {PORT}):
        command = [sys.executable, "-c", sys.argv[2], sys.argv[3]]
        process = await asyncio.create_subprocess_exec(*command)
        sys.exit(await process.wait())

asyncio.run(main())
"""
CLIENT = f"""
import http.client, sys

connection = http.client.HTTPConnection("127.0.0.1", {PORT}, timeout={WAIT})
for _ in range(2):
    connection.request("POST", "/infill", sys.argv[1])
    response = connection.getresponse()
    print(response.read().decode())
"""


@pytest.fixture
def elsewhere() -> None:
    try:
        subprocess.run([*ELSEWHERE, "ip", "link"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this system lets nobody make a network namespace")


@pytest.mark.usefixtures("elsewhere")
async def test_the_engine_is_here_and_the_editor_elsewhere(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.ready()
        request = json.dumps(llama_vim("x = │\n"))
        direct = CLIENT.replace(str(PORT), str(server.address[1]))
        refused = await _ran(*ELSEWHERE, sys.executable, "-c", direct, request)
        assert refused.returncode  # nothing leads here without the forwarded port
        async with _near_end(server, tmp_path / "forwarded") as path:
            found = await _ran(*ELSEWHERE, sys.executable, "-c", FAR_END, path, CLIENT, request)
        assert found.returncode == 0, found.stderr
        assert [json.loads(line)["content"] for line in found.stdout.splitlines()] == ["alpha(1)"] * 2


@contextlib.asynccontextmanager
async def _near_end(server: Server, path: Path) -> AsyncIterator[str]:
    async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection(*server.address)
        await asyncio.gather(_copied(reader, outer), _copied(inner, writer))

    async with await asyncio.start_unix_server(passed_on, path):
        yield str(path)


async def _copied(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        sink.write(data)
        await sink.drain()
    sink.close()


async def _ran(*command: Any) -> "subprocess.CompletedProcess[str]":
    return await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=4 * WAIT, check=False
    )
