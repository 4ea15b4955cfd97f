"""The units of `infill-ls bench` that need a server: cold start, answers while someone types, and memory."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from infill_engine.diagnostics.benchmark.results import Results
from infill_engine.diagnostics.benchmark.suites.plan import Typing
from infill_engine.diagnostics.benchmark.suites.running import Unit
from infill_engine.models.checkpoint.user_data import state_folder
from lsp_server.cli.bench.replay.client import LspClient
from lsp_server.cli.bench.replay.keystrokes import Replay, make_replay
from lsp_server.cli.bench.replay.processes import memory_mb
from lsp_server.cli.bench.replay.sources import SourceFile, standard_library
from lsp_server.cli.bench.replay.typing_runs import (
    Sample,
    close_document,
    closed_loop,
    open_document,
    open_loop,
    previewed,
)

TYPED = Path(__file__).with_name("typed.txt")
SETTLE_SECONDS = 1.0  # between opening a document and the first keystroke
LOAD_SECONDS, STROKE_SECONDS = 14.0, 0.12
MODELS = "models"
Loop = Callable[[LspClient, str, Replay, int], Iterator[Sample]]


def typing_units(
    results: Results, plan: Sequence[Typing], model: str, budget_ms: int, seed: int, options: dict[str, Any]
) -> list[Unit]:
    """One unit for each number of candidates: a server of its own is started and typed at.

    `options` are further initialization options.
    """
    units = []
    for candidates in dict.fromkeys(typing.candidates for typing in plan):
        part = [typing for typing in plan if typing.candidates == candidates]
        seconds = LOAD_SECONDS + STROKE_SECONDS * sum(each.closed + each.open + each.previews for each in part)
        settings = {"model": model, "budgetMs": budget_ms, "candidates": candidates, **options}
        units.append(
            Unit(f"typing {model} {candidates} candidates", seconds, partial(_type, results, part, settings, seed))
        )
    return units


def _type(results: Results, plan: Sequence[Typing], settings: dict[str, Any], seed: int) -> None:
    own = SourceFile("infill-ls", "typed.py", TYPED.read_text(encoding="utf-8"))
    about = {name: settings[key] for name, key in _NAMES.items()}
    with _state() as state:
        client = LspClient(state=state)
        try:
            initialize_ms, ready_ms = client.initialize(settings), client.until_ready()
            results.add("start", initialize_ms=round(initialize_ms, 1), ready_ms=round(ready_ms, 1), **about)
            _add_memory(results, client, "after loading", about)
            for typing in plan:
                files = [own, *(standard_library() if typing.lines > len(own.text.split("\n")) else [])]
                replay = make_replay(files, typing.lines, max(typing.closed, typing.open, typing.previews), seed)
                _loops(results, client, typing, replay, about, seed)
            _add_memory(results, client, "at the end", about)
            client.close()
        finally:
            client.process.kill()
            client.process.wait()


_NAMES = {"model": "model", "budget_ms": "budgetMs", "wanted": "candidates"}


def _loops(
    results: Results, client: LspClient, typing: Typing, replay: Replay, about: dict[str, Any], seed: int
) -> None:
    loops: tuple[tuple[str, int, Loop], ...] = (
        ("closed", typing.closed, closed_loop),
        ("open", typing.open, partial(open_loop, seed=seed)),
        ("preview", typing.previews, previewed),
    )
    for name, count, loop in loops:
        if count:
            uri = f"file:///bench/{name}_{typing.lines}.py"
            open_document(client, uri, replay.text)
            time.sleep(SETTLE_SECONDS)
            for sample in loop(client, uri, Replay(replay.text, replay.keystrokes[:count]), typing.lines):
                results.add("keystroke", **about, **asdict(sample))
            close_document(client, uri)


def _add_memory(results: Results, client: LspClient, moment: str, about: dict[str, Any]) -> None:
    results.add("memory", moment=moment, **about, **memory_mb(client.process.pid))


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
