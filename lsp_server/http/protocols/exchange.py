"""What the protocols share: the shape of an exchange, and how answers become responses."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from starlette.responses import Response

from lsp_server.http.question import Question, Reply

Body = TypeVar("Body", bound=msgspec.Struct)
Stops = str | list[str] | None


@dataclass(frozen=True, slots=True)
class Exchange(Generic[Body]):
    """A request of the type `asked` and its response, which has the type `answered` unless it is streamed.

    A question for no candidates only sends text ahead that later ones will contain.
    """

    summary: str
    asked: type[Body]
    answered: Any
    question: Callable[[Body], Question]
    respond: Callable[[Body, Reply], Response]


def json_response(content: object, status: int = 200) -> Response:
    """Return compact JSON, because some clients search the raw text and expect no spaces."""
    return Response(msgspec.json.encode(content), status, media_type="application/json")


def event_stream(events: Iterable[object]) -> Response:
    """Return server-sent events. All are sent at once, because an answer has no unfinished state."""
    lines = [b"data: " + msgspec.json.encode(event) + b"\n\n" for event in events]
    return Response(b"".join([*lines, b"data: [DONE]\n\n"]), media_type="text/event-stream")


def stops_of(stop: Stops) -> tuple[str, ...]:
    """Return the texts at which a candidate ends."""
    return (stop,) if isinstance(stop, str) else tuple(stop or ())
