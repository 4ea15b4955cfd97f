"""What the server and the worker say to each other: msgpack frames on a pipe.

A frame is its length as four big-endian bytes, then a msgpack map whose "type" names the message. A frame that is
damaged, too large or of an unknown type is skipped by whoever reads it, so that either side may be the newer one.

    server → worker     infill, watch, warm, surround, cancel, shutdown
    worker → server     status, sketch, answer, failure, alive

Every `Infill` gets exactly one `Answered` or `Failure`, and before it a `CanvasPreview` for each step since it was
watched.
`expires_at` is in seconds of `infill_engine.deadline.now`, a clock that the processes of one machine share.
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
from infill_engine.types import Answer, Candidate, Draft, Hole, HoleKind, InfillRequest, Reason, Source, Surroundings

MAX_FRAME_BYTES = 8 * 1024 * 1024
_LENGTH = struct.Struct(">I")


class State(StrEnum):
    """How far the worker has come with its model."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Infill:
    """Fill this hole. A newer one of the same document takes its place."""

    id: int
    document: str
    request: InfillRequest
    expires_at: float


@dataclass(frozen=True, slots=True)
class Watch:
    """Tell of every further denoising step of the `Infill` of this id. One that waits or runs; else nothing happens."""

    id: int


@dataclass(frozen=True, slots=True)
class Warm:
    """Encode this context when there is nothing better to do; a newer one of its document replaces it. No answer."""

    document: str
    request: InfillRequest


@dataclass(frozen=True, slots=True)
class Surround:
    """Count this text when there is nothing else to do; requests will name it. Gets no answer."""

    surroundings: Surroundings


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody waits for this `Infill` any more."""

    id: int


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Answer what waits, then exit."""


@dataclass(frozen=True, slots=True)
class Status:
    """`fraction` of the load that is done, 0 to 1.

    Once it is ready, `model` and `device` are the engine's own names, and `window` is the text it wants to be given.
    """

    state: State
    detail: str = ""
    fraction: float = 0.0
    model: str = ""
    device: str = ""
    window: WindowSettings = USUAL_WINDOW


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """One row of a canvas as it stands: for each slot its text, the name of its state, and its probability, 0 to 1.

    The text of an open slot is what the model would say there now, if it has been asked. Slots right of a decided end
    of the text are left out, so that the texts in a row are the row's text.
    """

    texts: tuple[str, ...]
    states: tuple[str, ...]
    confidences: tuple[float, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class CanvasPreview:
    """The canvas of the `Infill` of this id after a step; step 0 is the canvas as it was laid out."""

    id: int
    step: int
    rows: tuple[PreviewRow, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to the `Infill` of this id."""

    id: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class Failure:
    """The `Infill` of this id met a fault in the engine. The message holds no document text."""

    id: int
    message: str


@dataclass(frozen=True, slots=True)
class Alive:
    """Work has ended that has no answer: the watchdog is to know that the worker was busy and does not hang."""


Message = Infill | Watch | Warm | Surround | Cancel | Shutdown | Status | CanvasPreview | Answered | Failure | Alive


def encode(message: Message) -> bytes:
    """The frame of a message, length included. Raises `WorkerError` for one over `MAX_FRAME_BYTES`."""
    fields = {
        "type": _TYPES[type(message)],
        **(_of_sketch(message) if isinstance(message, CanvasPreview) else asdict(message)),
    }
    # surrogatepass: half of a surrogate pair is bad text, but no reason to leave a request unanswered.
    payload: bytes = msgpack.packb(fields, unicode_errors="surrogatepass")
    if len(payload) > MAX_FRAME_BYTES:
        raise WorkerError(f"A message of {len(payload)} bytes is too large; the limit is {MAX_FRAME_BYTES}.")
    return _LENGTH.pack(len(payload)) + payload


def decode(payload: bytes) -> Message | None:
    """The message of a frame's payload; None when it is damaged or of a type that is not known here."""
    try:
        fields = msgpack.unpackb(payload, unicode_errors="surrogatepass")
        return _READERS[fields.pop("type")](fields)
    except (ValueError, TypeError, KeyError, AttributeError, msgpack.UnpackException):
        return None


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next payload of a blocking stream, b"" for a frame too large to keep; None at the end of the stream."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME_BYTES:
        return b"" if _skip(stream, length) else None
    payload = stream.read(length)
    return payload if len(payload) == length else None


async def read_frame_async(stream: asyncio.StreamReader) -> bytes | None:
    """`read_frame` for an asyncio stream. A frame that is too large ends it: the worker never sends one."""
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
    return InfillRequest(
        hole=None if hole is None else Hole(**{**hole, "kind": HoleKind(hole["kind"])}),
        drafts=None if drafts is None else tuple(Draft(**draft) for draft in drafts),
        beyond=tuple(beyond),
        **fields,
    )


def _surroundings(fields: dict[str, Any]) -> Surroundings:
    return Surroundings(files=tuple((path, start) for path, start in fields.pop("files")), **fields)


def _answer(fields: dict[str, Any]) -> Answer:
    reason = fields.pop("reason")
    candidates = (Candidate(**{**item, "source": Source(item["source"])}) for item in fields.pop("candidates"))
    return Answer(tuple(candidates), None if reason is None else Reason(reason), **fields)


def _of_sketch(sketch: CanvasPreview) -> dict[str, Any]:
    """What `asdict` gives, without its copy of every string: a sketch is sent while an answer is due."""
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
