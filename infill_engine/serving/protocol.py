"""The messages between the server and the worker: msgpack frames on a pipe.

A frame is its length as four big-endian bytes, then a msgpack map whose "type" names the message. The reader skips a
frame that is damaged, too large or of an unknown type, so either side may be newer.

    server → worker     infill, watch, warm, surround, cancel, shutdown
    worker → server     status, sketch, answer, failure, alive

Every `Infill` gets exactly one `Answered` or `Failure`, and before it a `CanvasPreview` for each step since `Watch`.
`expires_at` is in seconds of `infill_engine.budget.deadline.now`, a clock that all processes of a machine share.
"""

import asyncio
import struct
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, BinaryIO

import msgpack  # type: ignore[import-untyped, unused-ignore]

from infill_engine.errors import WorkerError
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import (
    Answer,
    Candidate,
    Draft,
    Gap,
    Hole,
    HoleKind,
    InfillRequest,
    Reason,
    Source,
    Surroundings,
)

MAX_FRAME_BYTES = 8 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class State(StrEnum):
    """The worker's progress with loading its model."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Infill:
    """Fill this hole. A newer one for the same document replaces it.

    One that is `aside` gives way to all that are not: it waits while they run, and starts again after it was
    interrupted. It replaces none, and none replaces it.
    """

    id: int
    document: str
    request: InfillRequest
    expires_at: float
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Watch:
    """Send a preview of every further step of the `Infill` with this id, if it is waiting or running."""

    id: int


@dataclass(frozen=True, slots=True)
class Warm:
    """Encode this context when idle; a newer one for the same document replaces it. Gets no answer."""

    document: str
    request: InfillRequest


@dataclass(frozen=True, slots=True)
class Surround:
    """Count this text when there is no other work; requests will name it. Gets no answer."""

    surroundings: Surroundings


@dataclass(frozen=True, slots=True)
class Cancel:
    """The client no longer waits for this `Infill`."""

    id: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Answer pending requests, then exit."""


@dataclass(frozen=True, slots=True)
class Status:
    """`fraction` is the share of the load that is done, 0 to 1.

    Once ready, `model` and `device` are the engine's own names, and `window` is how much text it wants.
    `default_needs_ms` is the budget that would bring the default model back if it is too slow for the present one,
    else 0.
    """

    state: State
    detail: str = ""
    fraction: float = 0.0
    model: str = ""
    device: str = ""
    window: WindowSettings = USUAL_WINDOW
    default_needs_ms: int = 0


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One row of a canvas: for each slot its text, the name of its state, and its probability, 0 to 1.

    The text of an open slot is the model's current prediction, if there is one. Slots right of a decided end of the
    text are left out, so the concatenated texts are the row's text.
    """

    texts: tuple[str, ...]
    states: tuple[str, ...]
    confidences: tuple[float, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class CanvasPreview:
    """The canvas of the `Infill` with this id after a step; step 0 is the initial canvas."""

    id: int
    step: int
    rows: tuple[PreviewRow, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to the `Infill` with this id."""

    id: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Failure:
    """The engine failed on the `Infill` with this id. The message contains no document text."""

    id: int
    message: str


@dataclass(frozen=True, slots=True)
class Alive:
    """Work without an answer has ended. Tells the watchdog that the worker was busy and does not hang."""


Message = Infill | Watch | Warm | Surround | Cancel | Shutdown | Status | CanvasPreview | Answered | Failure | Alive


def encode(message: Message) -> bytes:
    """The frame of a message, length included. Raises `WorkerError` for one over `MAX_FRAME_BYTES`."""
    fields = {
        "type": _TYPES[type(message)],
        **(_of_sketch(message) if isinstance(message, CanvasPreview) else asdict(message)),
    }
    # surrogatepass: half of a surrogate pair is invalid text, but no reason to leave a request unanswered.
    payload: bytes = msgpack.packb(fields, unicode_errors="surrogatepass")
    if len(payload) > MAX_FRAME_BYTES:
        raise WorkerError(f"A message of {len(payload)} bytes is too large; the limit is {MAX_FRAME_BYTES}.")
    return _LENGTH.pack(len(payload)) + payload


def decode(payload: bytes) -> Message | None:
    """The message of a frame's payload; None if it is damaged or of an unknown type."""
    try:
        fields = msgpack.unpackb(payload, unicode_errors="surrogatepass")
        return _READERS[fields.pop("type")](fields)
    except (ValueError, TypeError, KeyError, AttributeError, msgpack.UnpackException):
        return None


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next payload of a blocking stream, b"" for a frame that is too large; None at the end of the stream."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME_BYTES:
        return b"" if _skip(stream, length) else None
    payload = stream.read(length)
    return payload if len(payload) == length else None


async def read_frame_async(stream: asyncio.StreamReader) -> bytes | None:
    """`read_frame` for an asyncio stream. Treats a too large frame as the end: the worker never sends one."""
    try:
        (length,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
        if length > MAX_FRAME_BYTES:
            return None
        return await stream.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _skip(stream: BinaryIO, length: int) -> bool:
    while length > 0:
        block = stream.read(min(length, 65536))
        if not block:
            return False
        length -= len(block)
    return True


def _request(fields: dict[str, Any]) -> InfillRequest:
    hole, drafts, beyond = fields.pop("hole"), fields.pop("drafts"), fields.pop("beyond")
    gaps, replaced = fields.pop("gaps", ()), fields.pop("replaced", ())
    return InfillRequest(
        hole=_hole(hole),
        drafts=None if drafts is None else tuple(Draft(**draft) for draft in drafts),
        beyond=tuple(beyond),
        gaps=tuple(Gap(**{**gap, "hole": _hole(gap["hole"])}) for gap in gaps),
        replaced=tuple(replaced),
        **fields,
    )


def _hole(fields: dict[str, Any] | None) -> Hole | None:
    return None if fields is None else Hole(**{**fields, "kind": HoleKind(fields["kind"])})


def _surroundings(fields: dict[str, Any]) -> Surroundings:
    return Surroundings(files=tuple((path, start) for path, start in fields.pop("files")), **fields)


def _answer(fields: dict[str, Any]) -> Answer:
    reason = fields.pop("reason")
    candidates = (
        Candidate(**{**item, "source": Source(item["source"]), "fills": tuple(item.get("fills", ()))})
        for item in fields.pop("candidates")
    )
    return Answer(tuple(candidates), None if reason is None else Reason(reason), **fields)


def _of_sketch(sketch: CanvasPreview) -> dict[str, Any]:
    """Like `asdict`, but without copying every string: a preview is sent while an answer is due."""
    rows = [
        {"texts": row.texts, "states": row.states, "confidences": row.confidences, "source": row.source}
        for row in sketch.rows
    ]
    return {"id": sketch.id, "step": sketch.step, "rows": rows}


def _sketch_row(fields: dict[str, Any]) -> PreviewRow:
    texts, states, confidences = (tuple(fields[name]) for name in ("texts", "states", "confidences"))
    return PreviewRow(texts, states, confidences, Source(fields["source"]))


_READERS: dict[str, Callable[[dict[str, Any]], Message]] = {
    "infill": lambda fields: Infill(request=_request(fields.pop("request")), **fields),
    "watch": lambda fields: Watch(**fields),
    "warm": lambda fields: Warm(request=_request(fields.pop("request")), **fields),
    "surround": lambda fields: Surround(_surroundings(fields.pop("surroundings"))),
    "cancel": lambda fields: Cancel(**fields),
    "shutdown": lambda fields: Shutdown(**fields),
    "status": lambda fields: Status(
        state=State(fields.pop("state")), window=WindowSettings(**fields.pop("window")), **fields
    ),
    "sketch": lambda fields: CanvasPreview(rows=tuple(map(_sketch_row, fields.pop("rows"))), **fields),
    "answer": lambda fields: Answered(answer=_answer(fields.pop("answer")), **fields),
    "failure": lambda fields: Failure(**fields),
    "alive": lambda fields: Alive(**fields),
}
_TYPES: dict[type, str] = {
    Infill: "infill",
    Watch: "watch",
    Warm: "warm",
    Surround: "surround",
    Cancel: "cancel",
    Shutdown: "shutdown",
    Status: "status",
    CanvasPreview: "sketch",
    Answered: "answer",
    Failure: "failure",
    Alive: "alive",
}
