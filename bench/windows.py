"""Memory of several windows that share one engine, and how soon a second window has its first answer.

    python -m bench.windows --model default --windows 3 --out bench/results/windows.json

Each window is a real server process with a document of its own. Memory is proportional (PSS where the system tells:
pages that processes share count once): that of the servers and of the engine. The second window's time runs from the
start of its process to its first answer with candidates, in a document that no window has asked about before.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from bench.replay.client import LspClient
from infill_engine.errors import InfillError, WorkerError

TEXT = """\
def area_{0}(width, height):
    return width * height


def volume_{0}(width, height, depth):
    return area_{0}("""
PAUSE_SECONDS = 0.02
WAIT_SECONDS = 60.0


def main() -> int:
    """Run the command line. Return its exit status."""
    options = _parser().parse_args()
    try:
        result = measure(options.model, options.windows)
    except InfillError as fault:
        print(fault, file=sys.stderr)
        return 1
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    return 0


def measure(model: str, windows: int) -> dict[str, Any]:
    """Open windows one after another. Return megabytes after each, and milliseconds to each one's first answer."""
    megabytes, first_ms = [], []
    clients: list[LspClient] = []
    with tempfile.TemporaryDirectory(prefix="infill-") as folder:
        try:
            for number in range(windows):
                client = LspClient(state=Path(folder) / f"state-{number}", runtime=_runtime(folder))
                clients.append(client)
                client.initialize({"model": model, "candidates": 4})
                if not number:
                    client.until_ready()
                first_ms.append(round(_first_answer(client, number), 1))
                megabytes.append(round(_memory_mb(clients), 1))
        finally:
            for client in clients:
                client.close()
    return {"model": model, "windows": windows, "megabytes": megabytes, "first_answer_ms": first_ms}


def _runtime(folder: str) -> Path:
    runtime = Path(folder) / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return runtime


def _first_answer(client: LspClient, number: int) -> float:
    """Open a document and ask until there are candidates. Return milliseconds from the start of the process."""
    uri, text = f"file:///project/window_{number}.py", TEXT.format(number)
    document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
    client.notify("textDocument/didOpen", {"textDocument": document})
    lines = text.split("\n")
    params = {
        "textDocument": {"uri": uri},
        "position": {"line": len(lines) - 1, "character": len(lines[-1])},
        "context": {"triggerKind": 1},
    }
    give_up = time.perf_counter() + WAIT_SECONDS
    while time.perf_counter() < give_up:
        pending = client.request("textDocument/inlineCompletion", params).wait()
        if pending.result and (pending.result if isinstance(pending.result, list) else pending.result.get("items")):
            return 1000 * (pending.arrived - client.started)
        time.sleep(PAUSE_SECONDS)
    raise WorkerError(f"window {number + 1} had no candidates within {WAIT_SECONDS:.0f} s; run `infill-ls doctor`")


def _memory_mb(clients: list[LspClient]) -> float:
    servers = [psutil.Process(client.process.pid) for client in clients]
    processes = {process for server in servers for process in (server, *server.children(recursive=True))}
    return sum(_proportional(process) for process in processes) / 1e6


def _proportional(process: psutil.Process) -> float:
    found = process.memory_full_info()
    return float(getattr(found, "pss", found.rss))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.windows", description="Measures windows that share an engine."
    )
    parser.add_argument("--model", default="default")
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--out", type=Path, help="file for the result, in JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
