"""Replays typing into a running server and times every keystroke from request to answer.

Closed loop: send didChange and the request together, and the next keystroke once the answer is there. The server gets
no head start from an editor's debounce. This is the hardest case for a single answer and the easiest for a queue.

Open loop: 8 to 12 keystrokes per second regardless of answers, as VS Code sends them: `$/cancelRequest` for the pending
request, didChange, and the request 35 to 70 ms later.

Watched: five keystrokes a second, as people type, and what an editor shows meanwhile.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from bench.replay.client import LspClient, Pending
from bench.replay.keystrokes import Keystroke, Replay, Stroke
from lsp_server.protocol.messages import CURSOR

STROKES_A_SECOND = (8.0, 12.0)
KEYS_A_SECOND = 5.0
ASKS_AGAIN_SECONDS = 0.01  # before the next keystroke: a late answer that comes later than that is not seen
REQUEST_AFTER_SECONDS = (0.035, 0.070)
AUTOMATIC, INVOKED = 2, 1  # trigger kinds on the wire


@dataclass(frozen=True, slots=True)
class Sample:
    """One keystroke's answer.

    `served` is "model", "typed-through" if every text continues one shown before, "refused" for an Automatic request
    after a deletion (never answered with candidates), or "cancelled" for null. `since_key_ms` counts from the
    didChange. In closed loops the two times differ by the time needed to write one message.
    """

    loop: str
    lines: int
    stroke: str
    invoked: bool
    ms: float
    since_key_ms: float
    candidates: int
    served: str


def open_document(client: LspClient, uri: str, text: str, language: str = "python") -> None:
    """Open a document in the server."""
    client.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": uri, "languageId": language, "version": 0, "text": text}},
    )


def rest_cursor(client: LspClient, uri: str, key: Keystroke) -> None:
    """Say that the cursor rests where a keystroke will be, as the plugins for Neovim and VS Code do."""
    position = {"line": key.row, "character": key.column}
    client.notify(CURSOR, {"textDocument": {"uri": uri}, "position": position})


def close_document(client: LspClient, uri: str) -> None:
    """Close the document."""
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def closed_loop(client: LspClient, uri: str, replay: Replay, lines: int) -> Iterator[Sample]:
    """Type, request and wait. Yield one sample per keystroke."""
    shown: list[str] = []
    for version, key in enumerate(replay.keystrokes, 1):
        pressed = perf_counter()
        _change(client, uri, version, key)
        answered = _ask(client, uri, key).wait()
        yield _sample("closed", lines, key, answered, pressed, shown)
        shown = _texts(answered)


def open_loop(client: LspClient, uri: str, replay: Replay, lines: int, seed: int) -> Iterator[Sample]:
    """Type at a fixed pace. Yields the samples after all keystrokes."""
    rng = random.Random(seed)
    asked: list[tuple[Keystroke, Pending, float]] = []
    due = perf_counter()
    for version, key in enumerate(replay.keystrokes, 1):
        due = max(due, perf_counter()) if not asked else due
        _sleep_until(due)
        if asked and not asked[-1][1].done.is_set():
            client.cancel(asked[-1][1])
        pressed = perf_counter()
        _change(client, uri, version, key)
        next_due = due + 1 / rng.uniform(*STROKES_A_SECOND)
        _sleep_until(min(pressed + rng.uniform(*REQUEST_AFTER_SECONDS), next_due))
        asked.append((key, _ask(client, uri, key), pressed))
        due = next_due
    shown: list[str] = []
    for key, pending, pressed in asked:
        yield _sample("open", lines, key, pending.wait(), pressed, shown)
        shown = _texts(pending) or shown


def watched(client: LspClient, uri: str, replay: Replay) -> Iterator[str]:
    """Type KEYS_A_SECOND, ask as VS Code does, and again where a late answer waits.

    Yield for each keystroke what is shown when the next one is due, "" if nothing is.
    """
    shown, due = "", perf_counter()
    for version, key in enumerate(replay.keystrokes, 1):
        due = max(due, perf_counter() - 0.1)
        _sleep_until(due)
        due += 1 / KEYS_A_SECOND
        client.late = None
        _change(client, uri, version, key)
        _sleep_until(perf_counter() + REQUEST_AFTER_SECONDS[0])
        pending = _ask(client, uri, key)
        _sleep_until(due - ASKS_AGAIN_SECONDS)
        if client.late and client.late["version"] == version:
            pending = _ask(client, uri, key)
        _sleep_until(due)
        shown = shown[1:] if shown.startswith(key.text) else ""
        if pending.done.is_set() and pending.result is not None:
            shown = next(iter(_texts(pending)), "")
        yield shown


def _change(client: LspClient, uri: str, version: int, key: Keystroke) -> None:
    start = {"line": key.row, "character": key.column}
    end = {"line": key.row, "character": key.column + key.removed}
    change = {"range": {"start": start, "end": end}, "text": key.text}
    client.notify(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
    )


def _ask(client: LspClient, uri: str, key: Keystroke) -> Pending:
    row, column = key.cursor
    params = {
        "textDocument": {"uri": uri},
        "position": {"line": row, "character": column},
        "context": {"triggerKind": INVOKED if key.invoked else AUTOMATIC},
    }
    return client.request("textDocument/inlineCompletion", params)


def _sample(loop: str, lines: int, key: Keystroke, answered: Pending, pressed: float, shown: list[str]) -> Sample:
    texts = _texts(answered)
    if answered.result is None:
        served = "cancelled"
    elif key.stroke is Stroke.DELETION and not key.invoked:
        served = "refused"
    elif texts and key.text and all(key.text + text in shown for text in texts):
        served = "typed-through"
    else:
        served = "model"
    since_key = 1000 * (answered.arrived - pressed)
    return Sample(
        loop,
        lines,
        key.stroke.value,
        key.invoked,
        round(answered.elapsed_ms, 3),
        round(since_key, 3),
        len(texts),
        served,
    )


def _texts(answered: Pending) -> list[str]:
    result: Any = answered.result
    items: Any = result or []
    if isinstance(result, dict):
        items = result.get("items", result.get("candidates", []))
    return [item["insertText"] for item in items]


def _sleep_until(moment: float) -> None:
    left = moment - perf_counter()
    if left > 0:
        time.sleep(left)
