"""The messages between the server and the engine: msgpack frames on a socket or a pipe.

A frame is its length as four big-endian bytes, then a msgpack map whose "type" names the message. The reader skips a
frame that is damaged, too large, out of bounds or of an unknown type.

    server → engine     hello, infill, promote, send_previews, prefetch, index_project, document_changed, cancel,
                        measure, shutdown
    engine → server     welcome, status, preview, answer, late, failure, alive, measured, shutdown

Every `Infill` gets exactly one `Answered` or `Failure`, and before it a `CanvasPreview` for each step since
`SendPreviews`.
`expires_at` is in seconds of `infill_engine.budget.deadline.now`, a clock that all processes of a machine share.
"""

import math
import struct
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, BinaryIO

import msgspec

from infill_engine.errors import WorkerError
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import Answer, Eagerness, InfillRequest, Level, ProjectText, Source

PROTOCOL = 13  # of a shared engine and its clients; part of the name of its socket
MAX_FRAME_BYTES = 8 * 1024 * 1024
MOST_CANDIDATES, MOST_HOLES, MOST_DRAFTS, MOST_EDITS = 64, 1024, 1024, 64  # of one request
LATENCY_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 500, 1000)  # of `Measured`; one more bucket has none
_LENGTH = struct.Struct(">I")

Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Name = Annotated[str, msgspec.Meta(max_length=16_384)]
Short = Annotated[str, msgspec.Meta(max_length=64)]


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message. Its tag is the value of "type"."""


class State(StrEnum):
    """The worker's progress with loading its model."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class Infill(_Message, frozen=True, tag="infill"):
    """Fill this hole. A newer one for the same document replaces it.

    One in the `background` has lower priority than all others: it waits while they run, and starts again after it was
    interrupted. It replaces none, and none replaces it. A `speculative` one has not been asked for yet: see `Promote`.
    Its client is sent `Late` answers if it wants them `late`.
    """

    id: Number
    document: Name
    request: InfillRequest
    expires_at: float
    background: bool = False
    speculative: bool = False
    late: bool = False


class Promote(_Message, frozen=True, tag="promote"):
    """Somebody has asked for the `Infill` with this id, which was speculative. It may have been answered."""

    id: Number


class SendPreviews(_Message, frozen=True, tag="send_previews"):
    """Send a preview of every further step of the `Infill` with this id, if it is waiting or running."""

    id: Number


class Prefetch(_Message, frozen=True, tag="prefetch"):
    """Read this context when idle; a newer one for the same document replaces it. Gets no answer."""

    document: Name
    request: InfillRequest


class IndexProject(_Message, frozen=True, tag="index_project"):
    """Index this text when there is no other work; requests will name it. Gets no answer."""

    project_text: ProjectText


class DocumentChanged(_Message, frozen=True, tag="document_changed"):
    """The text of this document has changed: the search for its last answer ends."""

    document: Name


class Cancel(_Message, frozen=True, tag="cancel"):
    """The client no longer waits for this `Infill`."""

    id: Number


class Shutdown(_Message, frozen=True, tag="shutdown"):
    """To the engine: answer pending requests, then exit. From a shared engine: it exits, and another may be started."""


class Hello(_Message, frozen=True, tag="hello"):
    """The first message of a client of a shared engine."""

    protocol: Number
    version: Short


class Welcome(_Message, frozen=True, tag="welcome"):
    """The answer to `Hello`."""

    pid: Number


class Measure(_Message, frozen=True, tag="measure"):
    """Ask a shared engine for `Measured`."""


class Measured(_Message, frozen=True, tag="measured"):
    """What a shared engine knows about itself, for a client that asks.

    Unless the model is loaded, `model` is empty and `state` says why. `clients` leaves out the one that asks. `waiting`
    counts requests without an answer. `latency_ms` are the 50th, 90th and 99th percentile of the last requests.
    `latency_counts` is a histogram of all with the bounds of `LATENCY_BOUNDS_MS`, `latency_sum_ms` their sum. `asked`
    counts the requests that somebody asked for. `speculative` counts those among them that had been sent beforehand.
    """

    pid: Number
    version: Short
    state: State
    model: Name
    device: Short
    seconds: float
    memory_bytes: Number
    clients: Number
    waiting: Number
    answers: Number
    from_cache: Number
    latency_ms: tuple[float, float, float]
    latency_counts: tuple[Number, ...]
    latency_sum_ms: float
    asked: Number = 0
    speculative: Number = 0


class Status(_Message, frozen=True, tag="status"):
    """`fraction` is the share of the load that is done, 0 to 1.

    Once ready, `model` and `device` are the engine's own names, `window` is how much text it wants, `levels` say what
    each level of eagerness costs, and `budget_ms` is the usual time limit that the model was chosen for.
    """

    state: State
    detail: str = ""
    fraction: float = 0.0
    model: str = ""
    device: str = ""
    window: WindowSettings = USUAL_WINDOW
    levels: dict[Eagerness, Level] = {}
    budget_ms: float = 0.0


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


class CanvasPreview(_Message, frozen=True, tag="preview"):
    """The canvas of the `Infill` with this id after a step; step 0 is the initial canvas."""

    id: Number
    step: int
    rows: tuple[PreviewRow, ...]


class Answered(_Message, frozen=True, tag="answer"):
    """The answer to the `Infill` with this id."""

    id: Number
    answer: Answer


class Late(_Message, frozen=True, tag="late"):
    """What the search for the `Infill` with this id has found since it was answered."""

    id: Number
    answer: Answer


class Failure(_Message, frozen=True, tag="failure"):
    """The engine failed on the `Infill` with this id. The message contains no document text."""

    id: Number
    message: str


class Alive(_Message, frozen=True, tag="alive"):
    """Work without an answer has ended. Tells the watchdog that the worker was busy and does not hang."""


OfRequest = Infill | Promote | SendPreviews | Cancel
OfDocument = Prefetch | IndexProject | DocumentChanged
ToEngine = Hello | OfRequest | OfDocument | Measure | Shutdown
FromEngine = Welcome | Status | CanvasPreview | Answered | Late | Failure | Alive | Measured
Message = ToEngine | FromEngine  # a shared engine says `Shutdown`, too
_encoder = msgspec.msgpack.Encoder()
_decoder: "msgspec.msgpack.Decoder[Message]" = msgspec.msgpack.Decoder(Message)


def encode(message: Message) -> bytes:
    """Return the frame of a message, length included. Raises `WorkerError` for one over `MAX_FRAME_BYTES`."""
    try:
        payload = _encoder.encode(message)
    except UnicodeEncodeError:  # half of a surrogate pair is invalid text, but no reason to leave a request unanswered
        payload = _encoder.encode(_without_surrogates(msgspec.to_builtins(message)))
    if len(payload) > MAX_FRAME_BYTES:
        raise WorkerError(f"A message of {len(payload)} bytes is too large; the limit is {MAX_FRAME_BYTES}.")
    return _LENGTH.pack(len(payload)) + payload


def decode(payload: bytes | None) -> Message | None:
    """Return the message of a frame's payload; None if it is damaged, out of bounds or of an unknown type."""
    try:
        message = _decoder.decode(payload or b"")
    except (ValueError, RecursionError):  # of msgspec's errors, too
        return None
    return message if _in_bounds(message) else None


def read_frame(stream: BinaryIO) -> bytes | None:
    """Return the next payload of a blocking stream; b"" for a frame that is too large, None at the end."""
    if len(header := stream.read(_LENGTH.size)) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > MAX_FRAME_BYTES:
        return b"" if _skip(stream, length) else None
    payload = stream.read(length)
    return payload if len(payload) == length else None


def _skip(stream: BinaryIO, length: int) -> bool:
    while length > 0 and (block := stream.read(min(length, 65536))):
        length -= len(block)
    return length == 0


def _in_bounds(message: Message) -> bool:
    """Return whether what a message asks for is limited. Its length alone does not limit a number."""
    if not isinstance(message, Infill | Prefetch):
        return True
    if isinstance(message, Infill) and not math.isfinite(message.expires_at):
        return False
    request = message.request
    return (
        1 <= request.candidates <= MOST_CANDIDATES
        and len(request.gaps) <= MOST_HOLES
        and len(request.replaced) <= MOST_HOLES
        and len(request.drafts or ()) <= MOST_DRAFTS
        and len(request.history) <= MOST_EDITS
    )


def _without_surrogates(value: Any) -> Any:
    """Return the value with U+FFFD for each half of a surrogate pair. Lengths do not change."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in value)
    if isinstance(value, dict):
        return {key: _without_surrogates(each) for key, each in value.items()}
    return [_without_surrogates(each) for each in value] if isinstance(value, list | tuple) else value
