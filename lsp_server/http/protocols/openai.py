"""OpenAI's `/v1/completions`, with `suffix` or with the prompt of a model for completions or next edits; `/v1/models`.

Used by minuet, Zed, cursortab and llama.vscode's OpenAI mode. The engine ignores `max_tokens` and sampling.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import msgspec
from starlette.responses import Response

from infill_engine.errors import InputError
from lsp_server.http.protocols.exchange import Exchange, event_stream, json_response, stops_of
from lsp_server.http.protocols.sentinels import read_prompt
from lsp_server.http.question import Question, Reply, estimated_tokens


class CompletionRequest(msgspec.Struct, kw_only=True):
    """A request. `t_max_predict_ms` is llama.cpp's time limit, and `language` an LSP identifier."""

    prompt: str | list[str]
    suffix: str | None = None
    model: str | None = None
    n: int | None = 1
    stop: str | list[str] | None = None
    stream: bool | None = False
    temperature: float | None = None
    t_max_predict_ms: float | None = None
    language: str = ""


class CompletionChoice(msgspec.Struct):
    """One candidate."""

    index: int
    text: str
    finish_reason: str | None = "stop"
    logprobs: None = None


class Usage(msgspec.Struct):
    """Estimates."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class CompletionResponse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The candidates; one with an empty text if there are none."""

    id: str
    object: str
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: Usage | None = None


def question(asked: CompletionRequest) -> Question:
    """Return the question. Raises InputError for several prompts."""
    if isinstance(asked.prompt, list) and len(asked.prompt) != 1:
        raise InputError("prompt must be a single text; send a request for each prompt")
    found = read_prompt(asked.prompt if isinstance(asked.prompt, str) else asked.prompt[0])
    if found.region is not None:
        return found
    return replace(
        found,
        after=found.after + (asked.suffix or ""),
        language=asked.language,
        candidates=max(1, asked.n or 1),
        budget_ms=asked.t_max_predict_ms,
        stops=stops_of(asked.stop),
        sampled=asked.temperature != 0 and (asked.n or 1) == 1,
    )


def respond(asked: CompletionRequest, reply: Reply) -> Response:
    """Return all candidates at once, or as a stream."""
    texts = reply.texts or ("",)
    choices = [CompletionChoice(index, text) for index, text in enumerate(texts)]
    written = sum(estimated_tokens(len(text)) for text in texts)
    whole = CompletionResponse(
        id=f"cmpl-{uuid4().hex}",
        object="text_completion",
        created=int(time.time()),
        model=asked.model or reply.model,
        choices=choices,
        usage=Usage(reply.tokens_read, written, reply.tokens_read + written),
    )
    return event_stream(_parts(whole)) if asked.stream else json_response(whole)


EXCHANGE = Exchange("Complete a text", CompletionRequest, CompletionResponse, question, respond)


def models(name: str) -> Response:
    """Return the list of models, with a single entry."""
    return json_response(
        {"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "infill-ls"}]}
    )


def _parts(whole: CompletionResponse) -> Iterator[CompletionResponse]:
    for choice in whole.choices:
        yield msgspec.structs.replace(whole, choices=[CompletionChoice(choice.index, choice.text, None)], usage=None)
        yield msgspec.structs.replace(whole, choices=[CompletionChoice(choice.index, "")], usage=None)
