"""Replays into a running server, with the time from request to answer for every keystroke.

Closed loop: didChange and the request at once, the next keystroke when the answer is there. The server gets no head
start from an editor's debounce: the hardest case for one answer, the easiest for a queue.

Open loop: 8 to 12 keystrokes a second whatever comes back, as VS Code sends them: `$/cancelRequest` for what is still
on its way, didChange, and 35 to 70 ms later the request.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from bench.latency.client import LspClient, Pending
from bench.latency.keystrokes import Keystroke, Replay, Stroke

STROKES_A_SECOND = (8.0, 12.0)
REQUEST_AFTER_SECONDS = (0.035, 0.070)
AUTOMATIC, INVOKED = 2, 1  # trigger kinds on the wire: Invoked is 1, Automatic 2


@dataclass(frozen=True, slots=True)
class Sample:
    """One keystroke's answer.

    `served` tells how: "model"; "typed-through" when every text is the rest of one shown before; "refused" for an
    Automatic request after a deletion, which is never answered with candidates; "cancelled" for null. `since_key_ms`
    counts from the didChange. In closed loops the two times differ by the time it takes to write one message.
    """

    loop: str
    lines: int
    stroke: str
    invoked: bool
    ms: float
    since_key_ms: float
    candidates: int
    served: str


def open_document(client: LspClient, uri: str, text: str) -> None:
    """Opens a Python document in the server."""
    client.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": uri, "languageId": "python", "version": 0, "text": text}},
    )


def close_document(client: LspClient, uri: str) -> None:
    """Closes it again."""
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})


def closed_loop(client: LspClient, uri: str, replay: Replay, lines: int) -> Iterator[Sample]:
    """Types, asks, waits; one sample a keystroke."""
    shown: list[str] = []
    for version, key in enumerate(replay.keystrokes, 1):
        pressed = perf_counter()
        _change(client, uri, version, key)
        answered = _ask(client, uri, key).wait()
        yield _sample("closed", lines, key, answered, pressed, shown)
        shown = _texts(answered)


def open_loop(client: LspClient, uri: str, replay: Replay, lines: int, seed: int) -> Iterator[Sample]:
    """Types at its own speed; the samples come when all has been typed."""
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
    items = result.get("items", []) if isinstance(result, dict) else result or []
    return [item["insertText"] for item in items]


def _sleep_until(moment: float) -> None:
    left = moment - perf_counter()
    if left > 0:
        time.sleep(left)
