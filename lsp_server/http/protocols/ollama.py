"""Ollama's `/api/generate` with `suffix`, or with the prompt of a model for completions or next edits.

Durations are nanoseconds.
"""

from dataclasses import replace
from datetime import UTC, datetime

import msgspec
from starlette.responses import Response

from lsp_server.http.protocols.exchange import Exchange, json_response, stops_of
from lsp_server.http.protocols.sentinels import read_prompt
from lsp_server.http.question import Question, Reply, estimated_tokens


class Options(msgspec.Struct):
    """The options that the engine uses."""

    stop: str | list[str] | None = None


class GenerateRequest(msgspec.Struct, kw_only=True):
    """A request. Without a prompt, it only loads the model."""

    prompt: str = ""
    suffix: str | None = None
    model: str = ""
    stream: bool | None = True
    options: Options | None = None


class GenerateResponse(msgspec.Struct, kw_only=True):
    """A part of the response. The last one has the figures."""

    model: str
    created_at: str
    response: str
    done: bool
    done_reason: str | msgspec.UnsetType = msgspec.UNSET
    total_duration: int | msgspec.UnsetType = msgspec.UNSET
    load_duration: int | msgspec.UnsetType = msgspec.UNSET
    prompt_eval_count: int | msgspec.UnsetType = msgspec.UNSET
    prompt_eval_duration: int | msgspec.UnsetType = msgspec.UNSET
    eval_count: int | msgspec.UnsetType = msgspec.UNSET
    eval_duration: int | msgspec.UnsetType = msgspec.UNSET


def question(asked: GenerateRequest) -> Question:
    """Return the question."""
    found = read_prompt(asked.prompt)
    if found.region is not None:
        return found
    stops = stops_of(asked.options.stop) if asked.options is not None else ()
    wanted = 1 if asked.prompt or asked.suffix else 0
    return replace(found, after=found.after + (asked.suffix or ""), candidates=wanted, stops=stops)


def respond(asked: GenerateRequest, reply: Reply) -> Response:
    """Return the best candidate, streamed unless the client declines."""
    text, model = "".join(reply.texts[:1]), asked.model or reply.model
    created = datetime.now(UTC).isoformat()
    read_ns, whole_ns = int(reply.answer.read_ms * 1e6), int(reply.elapsed_ms * 1e6)
    last = GenerateResponse(
        model=model,
        created_at=created,
        response="" if asked.stream else text,
        done=True,
        done_reason="stop",
        total_duration=whole_ns,
        load_duration=0,
        prompt_eval_count=reply.tokens_read,
        prompt_eval_duration=read_ns,
        eval_count=estimated_tokens(len(text)),
        eval_duration=max(0, whole_ns - read_ns),
    )
    if not asked.stream:
        return json_response(last)
    first = GenerateResponse(model=model, created_at=created, response=text, done=False)
    lines = [msgspec.json.encode(part) + b"\n" for part in (first, last)]
    return Response(b"".join(lines), media_type="application/x-ndjson")


EXCHANGE = Exchange("Generate a completion", GenerateRequest, GenerateResponse, question, respond)
