"""The messages between the server and the engine. See `frames` for their bytes.

    server → engine     hello, infill, alternatives, next_edit, send_previews, prefetch, index_project,
                        document_changed, cancel, measure, shutdown
    engine → server     welcome, status, preview, answer, proposed, late, failure, alive, measured, shutdown

Every `Infill` and `Alternatives` gets exactly one `Answered` or `Failure`, every `NextEdit` one `Proposed` or
`Failure`. Before it, an `Infill` gets a `CanvasPreview` for each step since `SendPreviews`.
`expires_at` is in seconds of `infill_engine.budget.deadline.now`, a clock that all processes of a machine share.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec

from infill_engine.edits.types import NextEditRequest, NextEdits
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.types import (
    AlternativesRequest,
    Answer,
    Eagerness,
    InfillRequest,
    Level,
    ProjectText,
    Reason,
    Source,
    Surroundings,
)

PROTOCOL = 14  # of a shared engine and its clients; part of the name of its socket
LATENCY_BOUNDS_MS = (1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 500, 1000)  # of `Measured`; one more bucket has none

Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Name = Annotated[str, msgspec.Meta(max_length=16_384)]
Short = Annotated[str, msgspec.Meta(max_length=64)]


class _Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message. Its tag is the value of "type"."""


class State(StrEnum):
    """The engine's progress with loading its model."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class Answered(_Message, frozen=True, tag="answer"):
    """The answer to the `Infill` or `Alternatives` with this id."""

    id: Number
    answer: Answer


class Proposed(_Message, frozen=True, tag="proposed"):
    """The answer to the `NextEdit` with this id."""

    id: Number
    answer: NextEdits


class Infill(_Message, frozen=True, tag="infill"):
    """Complete this hole. A newer one for the same document replaces it.

    Its client is sent `Late` answers if it wants them `late`.
    """

    id: Number
    document: Name
    request: InfillRequest
    expires_at: float
    late: bool = False


class Alternatives(_Message, frozen=True, tag="alternatives"):
    """Find other texts for these holes.

    Like a `NextEdit`, it gives way to every `Infill`: it waits while one runs, and starts again after it was
    interrupted. It replaces no other request, and none replaces it.
    """

    id: Number
    document: Name
    request: AlternativesRequest
    expires_at: float


class NextEdit(_Message, frozen=True, tag="next_edit"):
    """Find what follows from the last edits of this document. It gives way to every `Infill`."""

    id: Number
    document: Name
    request: NextEditRequest
    expires_at: float


Background = Alternatives | NextEdit
Request = Infill | Background
AnswerMessage = Answered | Proposed


class SendPreviews(_Message, frozen=True, tag="send_previews"):
    """Send a preview of every further step of the `Infill` with this id, if it is waiting or running."""

    id: Number


class Prefetch(_Message, frozen=True, tag="prefetch"):
    """Read this text when idle; a newer one for the same document replaces it. Gets no answer."""

    document: Name
    around: Surroundings


class IndexProject(_Message, frozen=True, tag="index_project"):
    """Index this text when there is no other work; requests will name it. Gets no answer."""

    project_text: ProjectText


class DocumentChanged(_Message, frozen=True, tag="document_changed"):
    """The text of this document has changed: the search for its last answer ends."""

    document: Name


class Cancel(_Message, frozen=True, tag="cancel"):
    """The client no longer waits for the request with this id."""

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
    `latency_counts` is a histogram of all with the bounds of `LATENCY_BOUNDS_MS`.
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


class Status(_Message, frozen=True, tag="status"):
    """`fraction` is the share of the load that is done, 0 to 1.

    Once ready, `model` and `device` are the engine's own names, `window` is how much text it wants, `levels` say what
    each level of eagerness costs, and `least_ms` is the shortest time in which the model can answer.
    """

    state: State
    detail: str = ""
    fraction: float = 0.0
    model: str = ""
    device: str = ""
    window: WindowSettings = USUAL_WINDOW
    levels: dict[Eagerness, Level] = {}
    least_ms: float = 0.0


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


class Late(_Message, frozen=True, tag="late"):
    """What the search for the `Infill` with this id has found since it was answered."""

    id: Number
    answer: Answer


class Failure(_Message, frozen=True, tag="failure"):
    """The engine failed on the request with this id. The message contains no document text."""

    id: Number
    message: str


class Alive(_Message, frozen=True, tag="alive"):
    """Work without an answer has ended. Tells the watchdog that the engine was busy and does not hang."""


OfRequest = Request | SendPreviews | Cancel
OfDocument = Prefetch | IndexProject | DocumentChanged
ToEngine = Hello | OfRequest | OfDocument | Measure | Shutdown
FromEngine = Welcome | Status | CanvasPreview | Answered | Proposed | Late | Failure | Alive | Measured
Message = ToEngine | FromEngine  # a shared engine says `Shutdown`, too


def no_answer(request: Request, reason: Reason) -> AnswerMessage:
    """Return the answer to a request if there is none, for this reason."""
    if isinstance(request, NextEdit):
        return Proposed(request.id, NextEdits(reason=reason))
    return Answered(request.id, Answer(reason=reason))
