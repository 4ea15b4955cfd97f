"""Tabby's `/v1/completions`, `/v1/events` and `/v1/health`, as its editor plugins use them."""

import platform
from itertools import chain
from uuid import uuid4

import msgspec
import psutil
from starlette.responses import Response

from infill_engine.serving.protocol import Status
from lsp_server.http.protocols.exchange import Exchange, json_response
from lsp_server.http.question import Question, Reply


class TabbySnippet(msgspec.Struct):
    """A piece of another file."""

    filepath: str
    body: str


class TabbySegments(msgspec.Struct, kw_only=True):
    """The text on both sides of the cursor, and what the client found elsewhere."""

    prefix: str
    suffix: str | None = None
    filepath: str | None = None
    declarations: list[TabbySnippet] | None = None
    relevant_snippets_from_changed_files: list[TabbySnippet] | None = None
    relevant_snippets_from_recently_opened_files: list[TabbySnippet] | None = None


class TabbyRequest(msgspec.Struct, kw_only=True):
    """A request. `temperature` is set where the client asks again for more choices."""

    segments: TabbySegments
    language: str | None = None
    temperature: float | None = None


class TabbyChoice(msgspec.Struct):
    """One candidate. Clients use the first."""

    index: int
    text: str


class TabbyResponse(msgspec.Struct):
    """The candidates, if there are any."""

    id: str
    choices: list[TabbyChoice]
    mode: str = "standard"


def question(asked: TabbyRequest) -> Question:
    """Return the question."""
    segments = asked.segments
    snippets = chain(
        segments.declarations or (),
        segments.relevant_snippets_from_changed_files or (),
        segments.relevant_snippets_from_recently_opened_files or (),
    )
    return Question(
        segments.prefix,
        segments.suffix or "",
        segments.filepath or "",
        asked.language or "",
        tuple((snippet.filepath, snippet.body) for snippet in snippets),
        sampled=bool(asked.temperature),
    )


def respond(_asked: TabbyRequest, reply: Reply) -> Response:
    """Return the candidates."""
    choices = [TabbyChoice(index, text) for index, text in enumerate(reply.texts)]
    return json_response(TabbyResponse(f"cmpl-{uuid4()}", choices))


EXCHANGE = Exchange("Complete between two segments", TabbyRequest, TabbyResponse, question, respond)


EVENTS = ("view", "select", "dismiss")


class TabbyEvent(msgspec.Struct):
    """What the user did with a completion. Only the kind is counted; see EVENTS."""

    type: str


def health(status: Status, model: str, version: str) -> Response:
    """Return what the plugins show. They read `git_describe` as a version; ours is below those of Tabby's server."""
    return json_response(
        {
            "status": status.state.value,
            "model": model,
            "device": status.device,
            "models": {"completion": {"local": {"model_id": model, "device": status.device}}},
            "arch": platform.machine(),
            "cpu_info": platform.processor(),
            "cpu_count": psutil.cpu_count() or 0,
            "cuda_devices": [],
            "version": {"build_date": "", "build_timestamp": "", "git_sha": "", "git_describe": f"infill-ls {version}"},
        }
    )
