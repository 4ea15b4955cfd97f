"""A shared engine whose passes become slower: it exits when it rests, and its windows start another one."""

import asyncio
import json
import sys
from pathlib import Path

from processes import has_ended
from sharing import ask, ready, until

from lsp_server.engine.client import EngineClient
from lsp_server.settings.schema import EngineChoice

# A real model that becomes slower.
DRIFTING = """
import argparse
from infill_engine.serving.__main__ import add_socket
from infill_engine.serving.health.health import Health, HealthSettings
from infill_engine.serving.listening import serve_socket
from infill_engine.serving.starting import load_local

parser = argparse.ArgumentParser()
parser.add_argument("script")
add_socket(parser)
options = parser.parse_args()
health = HealthSettings(every_seconds=0.1, quiet_seconds=0.02, slower=4.0, in_a_row=2, rest_seconds=0.3)
load = lambda progress: load_local("scripted:" + options.script)
serve_socket(load, options.socket, options.idle_seconds, health=health)
"""


async def test_a_model_that_becomes_slower_is_loaded_anew(engine_folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    rules = [{"before": "x = ", "candidates": ["alpha(1)"]}]
    script.write_text(json.dumps({"rules": rules, "busy_ms": 2, "step_ms": 20, "slower_after": 40}))
    told: list[str] = []
    command = (sys.executable, "-c", DRIFTING, str(script))
    client = EngineClient(lambda _status: None, told.append, lambda _choice: command, shared=True)
    await client.start(EngineChoice())
    try:
        await ready(client)
        old = client.worker.pid
        await asyncio.sleep(0.5)  # a quiet moment for the first probe, which later ones are compared with
        for number in range(40):
            await ask(client, f"# {number}\nx = ")
        await until(lambda: client.worker.pid not in (None, old))
        await ready(client)
        assert (await ask(client, "x = ")).candidates[0].text == "alpha(1)"
        await until(lambda: has_ended(old))
        assert told == []
    finally:
        await client.stop()
