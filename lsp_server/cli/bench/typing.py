"""Latency while typing: a real server is started, lines of a document are typed into it, and every answer is timed."""

import asyncio
import contextlib
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.running import Unit
from infill_engine.errors import EngineError
from infill_engine.models.checkpoint.user_data import STATE_DIR, state_folder
from infill_engine.serving.runtime_files import RUNTIME_DIR
from lsp_server.engine_client.shared import IDLE_SECONDS

TYPED = Path(__file__).with_name("typed.txt")
URI = "file:///bench/typed.py"
SETTLE_SECONDS = 1.0  # between opening the document and the first keystroke
WAIT_SECONDS = 120.0  # for the model, and for any answer
LOAD_SECONDS, STROKE_SECONDS = 14.0, 0.12
LONGEST = 1_000  # characters of a line
MODELS = "models"
PACKAGES = Path(__file__).parents[3]  # the folder that lsp_server lies in
Stroke = tuple[int, int, str]  # row, column and character; "" removes everything right of the place


def typing_unit(results: Results, keystrokes: int, settings: Mapping[str, Any]) -> Unit:
    """Return the unit in which a server with these initialization options is started and typed at."""
    seconds = LOAD_SECONDS + STROKE_SECONDS * keystrokes
    return Unit(f"typing {settings['model']}", seconds, lambda: _type_at_server(results, keystrokes, settings))


def _type_at_server(results: Results, keystrokes: int, settings: Mapping[str, Any]) -> None:
    with _folders() as own:
        try:
            asyncio.run(asyncio.wait_for(_measure(results, keystrokes, settings, own), 10 * WAIT_SECONDS))
        except (TimeoutError, RuntimeError) as error:
            raise EngineError(f"the server did not answer ({error}); run `infill-ls doctor`") from error


async def _measure(results: Results, keystrokes: int, settings: Mapping[str, Any], own: Mapping[str, str]) -> None:
    about = {"model": settings["model"], "budget_ms": settings["budgetMs"], "candidates": settings["candidates"]}
    client, loaded = LanguageClient("infill-ls bench", "1"), asyncio.get_running_loop().create_future()
    lines = TYPED.read_text(encoding="utf-8").splitlines()

    @client.feature("infill/status")  # type: ignore[untyped-decorator]
    def _on_status(status: Any) -> None:
        if status.state in ("ready", "failed") and not loaded.done():
            loaded.set_result(status.state)

    began = perf_counter()
    await client.start_io(sys.executable, "-m", "lsp_server", "serve", env={**os.environ, **own})
    inline = types.TextDocumentClientCapabilities(inline_completion=types.InlineCompletionClientCapabilities())
    capabilities = types.ClientCapabilities(text_document=inline)
    await client.initialize_async(types.InitializeParams(capabilities, initialization_options=settings))
    client.initialized(types.InitializedParams())
    if await asyncio.wait_for(loaded, WAIT_SECONDS) == "failed":
        raise EngineError(f"the server could not load the model {settings['model']}; run `infill-ls doctor`")
    results.add("start", ready_ms=round(1000 * (perf_counter() - began), 1), **about)
    document = types.TextDocumentItem(URI, "python", 0, "\n".join(lines))
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    await asyncio.sleep(SETTLE_SECONDS)
    shown: list[str] = []
    for version, (row, column, letter) in enumerate(islice(_strokes(lines), keystrokes), 1):
        _change(client, version, row, column, letter)
        if not letter:
            shown = []
            continue
        position = types.Position(row, column + 1)
        asked = types.InlineCompletionParams(
            types.InlineCompletionContext(types.InlineCompletionTriggerKind.Automatic),
            types.TextDocumentIdentifier(URI),
            position,
        )
        began = perf_counter()
        found = await client.text_document_inline_completion_async(asked)
        ms = round(1000 * (perf_counter() - began), 3)
        items = found.items if isinstance(found, types.InlineCompletionList) else found or ()
        texts = [str(item.insert_text) for item in items]
        if found is not None:
            typed_through = bool(texts) and all(letter + text in shown for text in texts)
            results.add("keystroke", ms=ms, typed_through=typed_through, **about)
        shown = texts
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]


def _strokes(lines: list[str]) -> Iterator[Stroke]:
    """Yield what is typed: the ends of lines are removed and written again, always in the same random order."""
    rng = random.Random(0)
    rows = [row for row, line in enumerate(lines) if len(line.strip()) > 8]
    rng.shuffle(rows)
    for row in rows:
        line = lines[row]
        start = rng.randrange(len(line) - len(line.lstrip()), len(line) - 4)
        yield row, start, ""
        for column in range(start, len(line)):
            yield row, column, line[column]


def _change(client: LanguageClient, version: int, row: int, column: int, letter: str) -> None:
    end = types.Position(row, column if letter else LONGEST)
    change = types.TextDocumentContentChangePartial(types.Range(types.Position(row, column), end), letter)
    document = types.VersionedTextDocumentIdentifier(version, URI)
    client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))


@contextlib.contextmanager
def _folders() -> Iterator[dict[str, str]]:
    """Yield the variables of a server that shares no engine with the user's windows and does not count as their use."""
    with tempfile.TemporaryDirectory(prefix="infill-", ignore_cleanup_errors=True) as name:
        own = {RUNTIME_DIR: str(Path(name, "run")), IDLE_SECONDS: "0", "PYTHONPATH": str(PACKAGES)}
        Path(name, "run").mkdir(mode=0o700)
        with contextlib.suppress(OSError):  # the user's models stay within reach
            Path(name, MODELS).symlink_to(state_folder() / MODELS)
            own[STATE_DIR] = name
        yield own
