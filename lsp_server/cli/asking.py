"""Answers one request in this process. The request is built as the server builds it."""

import argparse
import asyncio
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from infill_engine.budget.deadline import Deadline, now
from infill_engine.engine.remote.address import disclosure, is_remote, read_address
from infill_engine.models.registry import resolved
from infill_engine.serving.starting import load_local, load_remote, ready_status
from infill_engine.settings import ModelSettings
from infill_engine.text.syntax import parser_for
from infill_engine.types import Answer, Reason, Removal
from lsp_server.cli.place import NamedPlace, OpenPlace, open_at
from lsp_server.cli.terminal import doing
from lsp_server.documents.snapshots import Snapshot
from lsp_server.engine_client.client import EngineClient
from lsp_server.project.text import project_of
from lsp_server.protocol.uris import path_of
from lsp_server.settings.schema import ServerSettings
from lsp_server.suggestions.outcomes import SuggestionTracker
from lsp_server.suggestions.request_builder import Insertion, RequestBuilder
from lsp_server.suggestions.unasked import unasked
from lsp_server.suggestions.workspace import Workspace

if TYPE_CHECKING:
    from infill_engine.budget.work import Observer
    from infill_engine.engine.engine import Engine

READ_SECONDS = 10.0  # enough for a whole prompt on a busy machine


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer and its cost. `elapsed_ms` runs from the request to the candidates and excludes loading.

    `removed` are the proposals that are not among the candidates, in the order in which they were removed. `unasked` is
    the part of the answer that a server may show unasked; None if that is all of it.
    """

    answer: Answer
    budget_ms: int
    elapsed_ms: float
    model: str
    device: str | None = None
    removed: tuple[Removal, ...] = ()
    unasked: Answer | None = None


def ask_at_place(
    options: argparse.Namespace,
    settings: ServerSettings,
    observer: "Observer | None" = None,
    *,
    example: tuple[NamedPlace, OpenPlace] | None = None,
    read_before: bool = False,
) -> tuple[NamedPlace, OpenPlace | None, Asked]:
    """Request candidates for the place that the user names, or for an `example` if there is one.

    The engine reads the text around it within the budget, or beforehand with `read_before`, as in an editor. The
    document is None if it must not be completed. Raises InfillError for a place or a model that does not exist.
    """
    named, opened = example or (NamedPlace.parse(options.place), None)
    found = opened or open_at(named)
    if isinstance(found, Reason):
        return named, None, Asked(Answer(reason=found), options.budget_ms, 0.0, options.model)
    return named, found, _ask(_load_engine(options), found, settings, observer, read_before=read_before)


def _load_engine(options: argparse.Namespace) -> "Engine":
    """Load the engine that a server would run. Warn on stderr if text will be sent to another server.

    Raises what `load_local` and `load_remote` raise.
    """
    model = resolved(options.model, Path.cwd())
    settings = ModelSettings(dtype=options.precision)
    if is_remote(model):
        print(disclosure(read_address(model)), file=sys.stderr)
        return load_remote(model, options.api_key_variable)
    with doing(f"loading the model {options.model}"):
        return load_local(model, options.device, settings)


def _ask(
    engine: "Engine", opened: OpenPlace, settings: ServerSettings, observer: "Observer | None", *, read_before: bool
) -> Asked:
    snapshot, place = opened.snapshot, opened.place
    parser_for(snapshot.language)  # a running server has loaded the grammar
    requests = _requests_around(engine, snapshot, settings)
    deque(engine.index_project(requests.workspace.project_text(snapshot)), maxlen=0)  # its engine has counted this
    began = now()
    request = requests.completion(snapshot, place)
    if read_before:
        engine.prefetch(request, Deadline(now() + READ_SECONDS))
        began = now()
    answer = engine.answer(request, Deadline(began + settings.budget_ms / 1000), observer)
    elapsed_ms = (now() - began) * 1000
    allowed = unasked(requests, Insertion(snapshot, place, place), answer)
    return Asked(answer, settings.budget_ms, elapsed_ms, engine.name, engine.device, engine.removed, allowed)


def _requests_around(engine: "Engine", snapshot: Snapshot, settings: ServerSettings) -> RequestBuilder:
    """Return what builds requests in a server that has read the files around a document."""
    workspace, root = Workspace(settings), project_of(Path(path_of(snapshot.uri)))
    workspace.roots = () if root is None else (str(root),)
    asyncio.run(workspace.project.read(snapshot.uri, snapshot.language, workspace.roots, settings.excludes))
    client = EngineClient(lambda _status: None, lambda _news: None, status=ready_status(engine))
    return RequestBuilder(workspace, client, SuggestionTracker(lambda _name, _number: None))
