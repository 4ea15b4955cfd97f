"""A server named as the model, as its user meets it: told where text goes, and once what is wrong."""

import json
import os
import socket
import subprocess
import sys

from capabilities import BARE
from editor import editor


def nobodys_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_the_user_is_told_once_where_the_text_goes_and_once_that_nobody_answers() -> None:
    place = f"127.0.0.1:{nobodys_port()}"
    async with editor(BARE, options={"model": f"llama:http://{place}", "showThreshold": 0, "budgetMs": 5000}) as lost:
        await lost.ready()
        assert lost.statuses[-1].device == place
        above = "".join(f"value_{number} = compute({number})\n" for number in range(9))
        for name in ("one", "two"):
            uri = lost.open(f"{above}value_7 = │\n", f"file:///project/{name}.py")
            assert "compute(7)" in (await lost.ask(uri) or [])
        told, user_message = lost.messages
        assert f"sent to {place}" in told
        assert f"nothing answers at {place}" in user_message


def doctor(model: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "lsp_server", "doctor", "--json", "--model", model]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ})


def test_doctor_says_where_the_text_goes_and_what_is_wrong() -> None:
    place = f"127.0.0.1:{nobodys_port()}"
    ran = doctor(f"openai:http://{place}/v1#qwen2.5-coder")
    assert ran.returncode == 1
    (server,) = [check for check in json.loads(ran.stdout)["checks"] if check["name"] == "server"]
    assert server["status"] == "fail"
    assert f"sent to {place}" in server["detail"]
    assert "nothing answers" in server["remedy"]
