"""llama.cpp's `/infill`, as llama.vim and llama.vscode use it, and the addresses that describe its server.

Source: tools/server/README.md of llama.cpp. `input_prefix` and `prompt` are the text left of the cursor.
"""

from typing import Any

import msgspec
from starlette.responses import Response

from infill_engine.serving.protocol import State, Status
from lsp_server.http.protocols.exchange import Exchange, event_stream, json_response, stops_of
from lsp_server.http.question import Question, Reply, estimated_tokens

MOST_INDENT = 200  # characters


class Piece(msgspec.Struct):
    """Text of another file, or of another part of this one. The last is the newest."""

    text: str
    filename: str = ""


class InfillBody(msgspec.Struct, kw_only=True):
    """A request. The engine ignores all other fields."""

    input_prefix: str = ""
    input_suffix: str = ""
    input_extra: list[Piece] | None = None
    prompt: str = ""
    n_predict: int = -1  # 0 announces `input_extra`
    n_cmpl: int = 1
    n_indent: int = 0  # width of the line's indentation, which is not part of `prompt` in a blank line
    stop: str | list[str] | None = None
    stream: bool = False
    t_max_predict_ms: float | None = None
    response_fields: list[str] | None = None
    language: str = ""  # an LSP identifier; our own field


class Timings(msgspec.Struct):
    """Milliseconds and rates. Token counts are estimates."""

    prompt_n: int
    prompt_ms: float
    prompt_per_token_ms: float
    prompt_per_second: float
    predicted_n: int
    predicted_ms: float
    predicted_per_token_ms: float
    predicted_per_second: float


class Completion(msgspec.Struct, kw_only=True):
    """One candidate; with `n_cmpl`, the response is a list of them. `content` is "" if there is none."""

    index: int
    content: str
    stop: bool = True
    stop_type: str = "eos"
    model: str
    tokens_predicted: int
    tokens_evaluated: int
    tokens_cached: int
    truncated: bool = False
    generation_settings: dict[str, int]
    timings: Timings


def infill(asked: InfillBody) -> Question:
    """Return the question."""
    return Question(
        asked.input_prefix + (asked.prompt or _indentation(asked)),
        asked.input_suffix,
        language=asked.language,
        pieces=tuple((piece.filename, piece.text) for piece in reversed(asked.input_extra or ())),
        candidates=0 if asked.n_predict == 0 else max(1, asked.n_cmpl),
        budget_ms=asked.t_max_predict_ms,
        stops=stops_of(asked.stop),
    )


def respond(asked: InfillBody, reply: Reply) -> Response:
    """Return one completion, or a list if several were asked for, with only the fields that were asked for."""
    lead = "" if asked.prompt else _indentation(asked)  # llama.vscode removes it from what it inserts
    texts = [lead + text for text in reply.texts] or [""]
    completions = [_completion(index, text, reply) for index, text in enumerate(texts)]
    if asked.stream:
        return event_stream(completions)
    shown = [_selected(each, asked.response_fields) if asked.response_fields else each for each in completions]
    return json_response(shown if asked.n_cmpl > 1 else shown[0])


EXCHANGE = Exchange("Fill in the text at the cursor", InfillBody, Completion | list[Completion], infill, respond)


def health(status: Status) -> Response:
    """Return whether the engine is ready, in the form of llama.cpp's server."""
    if status.state is State.READY:
        return json_response({"status": "ok"})
    message = "Loading model" if status.state is State.LOADING else status.detail
    return json_response({"error": {"code": 503, "message": message, "type": "unavailable_error"}}, 503)


def props(status: Status, model: str, build: str) -> Response:
    """Return what llama.cpp's server says about itself."""
    context = estimated_tokens(status.window.prefix_chars + status.window.suffix_chars)
    return json_response(
        {
            "default_generation_settings": {"n_ctx": context},
            "total_slots": 1,
            "model_path": model,
            "model_alias": model,
            "build_info": build,
        }
    )


def _indentation(asked: InfillBody) -> str:
    """Return the indentation of a blank line, which clients leave out of `prompt`."""
    above = asked.input_prefix.rstrip().rpartition("\n")[2]
    return ("\t" if above.startswith("\t") else " ") * max(0, min(asked.n_indent, MOST_INDENT))


def _completion(index: int, text: str, reply: Reply) -> Completion:
    predicted = estimated_tokens(len(text))
    read_ms = reply.answer.read_ms
    timings = Timings(*_timed(reply.tokens_read, read_ms), *_timed(predicted, reply.elapsed_ms - read_ms))
    return Completion(
        index=index,
        content=text,
        model=reply.model,
        tokens_predicted=predicted,
        tokens_evaluated=reply.tokens_read,
        tokens_cached=reply.tokens_read,
        generation_settings={"n_ctx": reply.tokens_most},
        timings=timings,
    )


def _timed(tokens: int, ms: float) -> tuple[int, float, float, float]:
    ms = max(ms, 0.001)
    return tokens, round(ms, 3), round(ms / max(1, tokens), 3), round(1000 * tokens / ms, 2)


def _selected(completion: Completion, fields: list[str]) -> dict[str, Any]:
    """Return the named fields. `timings/prompt_n` names a field inside another, and stays whole."""
    whole = msgspec.to_builtins(completion)
    found: dict[str, Any] = {}
    for field in fields:
        value: Any = whole
        for name in field.split("/"):
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            found[field] = value
    return found
