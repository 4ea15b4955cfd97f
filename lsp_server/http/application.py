"""The ASGI application: routes, limits, keys, errors and counts."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Lifespan

from infill_engine.budget.deadline import now
from infill_engine.errors import InfillError
from infill_engine.process import without_text
from infill_engine.serving.protocol import Status
from lsp_server.http.access import Access
from lsp_server.http.description import openapi
from lsp_server.http.protocols import llama_cpp, mercury, ollama, openai, tabby
from lsp_server.http.protocols.exchange import Exchange, json_response
from lsp_server.http.question import Question, Reply

MOST_BYTES = 4 * 1024 * 1024  # of a request's body
BODY_SECONDS = 10.0  # for a body to arrive
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1", "[::1]")

EXCHANGES: dict[str, tuple[Exchange[Any], ...]] = {
    "/infill": (llama_cpp.EXCHANGE,),
    "/v1/completions": (openai.EXCHANGE, tabby.EXCHANGE),
    "/v1/edit/completions": (mercury.EXCHANGE,),
    "/api/generate": (ollama.EXCHANGE,),
}
EXCHANGES["/completions"] = EXCHANGES["/v1/completions"]

EVENTS: dict[str, tuple[type[tabby.TabbyEvent] | type[mercury.EditEvent], tuple[str, ...]]] = {
    "/v1/events": (tabby.TabbyEvent, tabby.EVENTS),
    "/feedback": (mercury.EditEvent, mercury.EVENTS),
}

PUBLIC = ("/health",)  # without a key

T = TypeVar("T", bound=msgspec.Struct)
Handler = Callable[[Request], Awaitable[Response]]
Page = Callable[[], Response]
log = logging.getLogger(__name__)


class Answering(Protocol):
    """Answers questions: this machine's engine, or one of several."""

    @property
    def status(self) -> Status:
        """What the engine does."""

    @property
    def model(self) -> str:
        """The name of the model that answers, or is being loaded."""

    async def complete(self, question: Question, arrived: float) -> Reply:
        """Return candidates, or the reason why there are none, by the deadline, which counts from `arrived`."""


def application(
    completer: Answering, access: Access, version: str, lifespan: Lifespan[Starlette] | None = None
) -> Starlette:
    """Return the application that answers with `completer`."""
    metrics = Metrics()
    pages: dict[str, Page] = {
        "/health": lambda: llama_cpp.health(completer.status),
        "/props": lambda: llama_cpp.props(completer.status, completer.model, f"infill-ls {version}"),
        "/v1/models": lambda: openai.models(completer.model),
        "/v1/health": lambda: tabby.health(completer.status, completer.model, version),
        "/metrics": lambda: Response(metrics.text(), media_type="text/plain; version=0.0.4"),
        "/openapi.json": lambda: json_response(description),
    }
    description = openapi(EXCHANGES, {path: read for path, (read, _) in EVENTS.items()}, pages, version)

    async def exchanged(request: Request) -> Response:
        return await _exchange(request, completer, metrics)

    async def event(request: Request) -> Response:
        read, known = EVENTS[request.url.path]
        kind = _read(await _body(request), read).type
        metrics.events.labels(kind if kind in known else "other").inc()
        return Response()

    async def page(request: Request) -> Response:
        return pages[request.url.path]()

    def route(path: str, handle: Handler, method: str) -> Route:
        async def guarded(request: Request) -> Response:
            if path not in PUBLIC:
                _check_sender(request, access)
            try:
                response = await handle(request)
            except HTTPException:
                raise
            except Exception as fault:
                log.error("a request failed: %s", without_text(fault))
                raise HTTPException(500, "Internal error. The server's log shows where it happened.") from None
            metrics.responses.labels(path, response.status_code).inc()
            return response

        return Route(path, guarded, methods=[method])

    async def refused(request: Request, fault: Exception) -> Response:
        assert isinstance(fault, HTTPException)
        path = request.url.path
        metrics.responses.labels(path if path in {*EXCHANGES, *EVENTS, *pages} else "other", fault.status_code).inc()
        return _error(path, fault)

    routes = [route(path, exchanged, "POST") for path in EXCHANGES]
    routes += [*(route(path, event, "POST") for path in EVENTS), *(route(path, page, "GET") for path in pages)]
    names = LOCAL_NAMES if access.is_local else ("*",)  # a web page may point a name of its own at this machine
    return Starlette(
        routes=routes,
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=names, www_redirect=False)],
        exception_handlers={HTTPException: refused},
        lifespan=lifespan,
    )


def _check_sender(request: Request, access: Access) -> None:
    if not access.allows(request.headers.get("authorization", "")):
        raise HTTPException(401, "Send an API key as: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})
    if not access.keys and "origin" in request.headers:
        raise HTTPException(403, "Web pages may not use a server without keys.")


async def _exchange(request: Request, completer: Answering, metrics: "Metrics") -> Response:
    body = await _body(request)
    arrived = now()
    exchange = _exchange_for(EXCHANGES[request.url.path], body)
    asked = _read(body, exchange.asked)
    try:
        question = exchange.question(asked)
        question = replace(question, document=_document(request, question.path))
    except InfillError as fault:
        raise HTTPException(400, str(fault)) from None
    reply = await _unless_disconnected(request, completer.complete(question, arrived))
    if not question.announces:
        metrics.answers.labels("" if reply.answer.reason is None else reply.answer.reason.value).inc()
        metrics.seconds.observe(reply.elapsed_ms / 1000)
    return exchange.respond(asked, reply)


def _document(request: Request, path: str) -> str:
    """Return a name that the requests for one document of one sender share. It tells nothing about either."""
    sender = request.headers.get("authorization") or (request.client.host if request.client is not None else "")
    return blake2b(f"{sender}\0{path}".encode(errors="replace"), digest_size=16).hexdigest()


async def _unless_disconnected(request: Request, work: Coroutine[Any, Any, Reply]) -> Reply:
    """Return the reply. Stop working on it as soon as the client is gone."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise HTTPException(499, "The client disconnected.")
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request: Request) -> bytes:
    """Return the body. Raises HTTPException if it is too large or too slow."""
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared[:12]) > MOST_BYTES:
        raise HTTPException(413, f"The body is larger than {MOST_BYTES} bytes.", {"Connection": "close"})
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BYTES:
                    raise HTTPException(413, f"The body is larger than {MOST_BYTES} bytes.", {"Connection": "close"})
    except TimeoutError:
        raise HTTPException(408, "The body did not arrive in time.", {"Connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(499, "The client disconnected.") from None
    return bytes(body)


class _Peek(msgspec.Struct):
    segments: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _exchange_for(exchanges: Sequence[Exchange[Any]], body: bytes) -> Exchange[Any]:
    """Return the exchange that a body is for: Tabby's requests have segments, OpenAI's a prompt."""
    if len(exchanges) > 1 and b'"segments"' in body:
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            if msgspec.json.decode(body, type=_Peek).segments is not msgspec.UNSET:
                return tabby.EXCHANGE
    return exchanges[0]


def _read(body: bytes, kind: type[T]) -> T:
    """Return a request. Raises HTTPException for anything else; its message never quotes the body."""
    try:
        try:
            return msgspec.json.decode(body, type=kind, strict=False)
        except msgspec.ValidationError:
            raise
        except (msgspec.DecodeError, UnicodeDecodeError):  # perhaps only a character that an editor has cut in two
            return msgspec.convert(json.loads(body.decode(errors="replace")), kind, strict=False)
    except (msgspec.ValidationError, RecursionError) as fault:
        raise HTTPException(400, f"The body does not fit: {_told(fault)}") from None
    except ValueError:
        raise HTTPException(400, "The body is not JSON.") from None


def _told(fault: Exception) -> str:
    return str(fault) if isinstance(fault, msgspec.ValidationError) else "it is nested too deeply"


def _error(path: str, fault: HTTPException) -> Response:
    """Return an error in the shape that the clients of a path read."""
    if path.startswith("/api/"):
        content: object = {"error": fault.detail}
    else:
        kind = "invalid_request_error" if fault.status_code < 500 else "server_error"
        content = {"error": {"code": fault.status_code, "message": fault.detail, "type": kind}}
    response = json_response(content, fault.status_code)
    response.headers.update(fault.headers or {})
    return response


BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.5)  # seconds


class Metrics:
    """The counts since the server started."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.responses = Counter("infill_http_responses", "Responses.", ("path", "status"), registry=self._registry)
        self.answers = Counter(
            "infill_http_answers", "Answers; reason is empty with candidates.", ("reason",), registry=self._registry
        )
        self.events = Counter("infill_http_events", "What users did.", ("type",), registry=self._registry)
        self.seconds = Histogram(
            "infill_http_answer_seconds", "Time to answer.", buckets=BOUNDS, registry=self._registry
        )

    def text(self) -> bytes:
        """Return the exposition format."""
        return generate_latest(self._registry)
