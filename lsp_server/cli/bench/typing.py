"""Latency while typing: a real server is started, lines of a document are typed into it, and every answer is timed."""

import contextlib
import random
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.running import Unit
from infill_engine.models.checkpoint.user_data import state_folder
from lsp_server.cli.bench.client import LspClient, Pending

TYPED = Path(__file__).with_name("typed.txt")
URI = "file:///bench/typed.py"
SETTLE_SECONDS = 1.0  # between opening the document and the first keystroke
LOAD_SECONDS, STROKE_SECONDS = 14.0, 0.12
MODELS = "models"
AUTOMATIC = 2  # the kind of a request that nobody made explicitly, on the wire


def typing_units(results: Results, keystrokes: int, settings: Mapping[str, Any], seed: int) -> list[Unit]:
    """Return the unit in which a server with these initialization options is started and typed at."""
    seconds = LOAD_SECONDS + STROKE_SECONDS * keystrokes
    return [Unit(f"typing {settings['model']}", seconds, lambda: _type(results, keystrokes, settings, seed))]


def _type(results: Results, keystrokes: int, settings: Mapping[str, Any], seed: int) -> None:
    lines = TYPED.read_text(encoding="utf-8").splitlines()
    about = {"model": settings["model"], "budget_ms": settings["budgetMs"], "wanted": settings["candidates"]}
    with _state() as state:
        client = LspClient(state=state)
        try:
            initialize_ms, ready_ms = client.initialize(dict(settings)), client.until_ready()
            results.add("start", initialize_ms=round(initialize_ms, 1), ready_ms=round(ready_ms, 1), **about)
            _open(client, lines)
            shown: list[str] = []
            for version, (row, column, letter) in enumerate(_keystrokes(lines, keystrokes, random.Random(seed)), 1):
                pending = _press(client, version, row, column, letter)
                texts = [item["insertText"] for item in _items(pending.result)]
                served = "cancelled" if pending.result is None else "model"
                if texts and letter and all(letter + text in shown for text in texts):
                    served = "typed-through"
                ms = round(pending.elapsed_ms, 3)
                results.add("keystroke", loop="closed", lines=len(lines), ms=ms, served=served, **about)
                shown = texts
            client.close()
        finally:
            client.process.kill()
            client.process.wait()


def _open(client: LspClient, lines: list[str]) -> None:
    document = {"uri": URI, "languageId": "python", "version": 0, "text": "\n".join(lines)}
    client.notify("textDocument/didOpen", {"textDocument": document})
    time.sleep(SETTLE_SECONDS)


def _keystrokes(lines: list[str], most: int, rng: random.Random) -> Iterator[tuple[int, int, str]]:
    """Yield row, column and character: the ends of lines are deleted and typed again, in random order.

    A deletion has the character "", and removes everything right of its place.
    """
    rows = [row for row, line in enumerate(lines) if len(line.strip()) > 8]
    rng.shuffle(rows)
    typed = 0
    for row in rows:
        line = lines[row]
        start = rng.randrange(len(line) - len(line.lstrip()), len(line) - 4)
        yield row, start, ""
        for column in range(start, len(line)):
            if typed == most:
                return
            typed += 1
            yield row, column, line[column]


def _press(client: LspClient, version: int, row: int, column: int, letter: str) -> Pending:
    """Send a change and a request after it, and wait for the answer."""
    start, end = {"line": row, "character": column}, {"line": row, "character": column if letter else 1_000}
    change = {"range": {"start": start, "end": end}, "text": letter}
    document = {"uri": URI, "version": version}
    client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
    position = {"line": row, "character": column + len(letter)}
    asked = {"textDocument": document, "position": position, "context": {"triggerKind": AUTOMATIC}}
    return client.request("textDocument/inlineCompletion", asked).wait()


def _items(result: Any) -> list[dict[str, str]]:
    return result.get("items", []) if isinstance(result, dict) else result or []


@contextlib.contextmanager
def _state() -> Iterator[Path | None]:
    """A folder for the server's statistics, so that typing here does not count as the user's.

    The user's models stay within reach. None if that is impossible.
    """
    with tempfile.TemporaryDirectory(prefix="infill-bench-", ignore_cleanup_errors=True) as folder:
        try:
            Path(folder, MODELS).symlink_to(state_folder() / MODELS)
        except OSError:
            yield None
        else:
            yield Path(folder)
