"""Our extensions of the protocol: methods, commands, and how their parameters are decoded.

infill/candidates   request       `CandidatesParams` -> candidates with all their details
infill/getStatus    request       the engine's state and the current settings
infill/status       notification  the same, on every change (`lsp_server.status`)
infill/lateAnswer   notification  where to ask again (`lsp_server.suggestions.late_answers`)
infill/cursor       notification  `CursorParams`, from the client: where the cursor has come to rest
infill/nextEdit     request       what the last edit makes necessary (`lsp_server.protocol.next_edit_messages`)
infill.accepted     command       a shown candidate was accepted
infill.dismissed    command       the candidates shown in a document were dismissed
infill.restartEngine  command     restart the worker
infill.downloadModel  command     fetch the default model (`lsp_server.features.download`)
"""

from typing import Any

import attrs
from cattrs import Converter
from lsprotocol import types

CANDIDATES = "infill/candidates"
GET_STATUS = "infill/getStatus"
CURSOR = "infill/cursor"
LATE_ANSWER = "infill/lateAnswer"
LATE_ANSWERS = "infillLateAnswers"  # the experimental capability of a client that asks again
ACCEPTED = "infill.accepted"
DISMISSED = "infill.dismissed"
RESTART_ENGINE = "infill.restartEngine"
DOWNLOAD_MODEL = "infill.downloadModel"


@attrs.frozen
class CandidatesParams:
    """The place to complete. The candidates replace `range`, which must be on one line; without it, nothing."""

    text_document: types.TextDocumentIdentifier
    position: types.Position
    range: types.Range | None = None
    candidates: int | None = None
    partial_result_token: int | str | None = None


@attrs.define
class CandidatesRequest:
    """The whole message."""

    id: int | str
    method: str
    jsonrpc: str
    params: CandidatesParams


@attrs.frozen
class CursorParams:
    """A place where the cursor has come to rest. `version` is the client's document version, None if not sent."""

    text_document: types.TextDocumentIdentifier
    position: types.Position
    version: int | None = None


@attrs.define
class CursorNotification:
    """The whole message. It has no id, because pygls treats any message with an id as a request."""

    method: str
    jsonrpc: str
    params: CursorParams


MESSAGES: dict[str, type] = {CANDIDATES: CandidatesRequest, CURSOR: CursorNotification}


def teach(converter: Converter) -> None:
    """Register our messages with a converter. Malformed parameters raise; unknown fields are ignored."""

    def read_candidates(message: dict[str, Any], _: type) -> CandidatesRequest:
        params = _candidates_params(converter, message["params"])
        return CandidatesRequest(message["id"], message["method"], message["jsonrpc"], params)

    def read_cursor(message: dict[str, Any], _: type) -> CursorNotification:
        return CursorNotification(message["method"], message["jsonrpc"], _cursor_params(converter, message["params"]))

    converter.register_structure_hook(CandidatesRequest, read_candidates)
    converter.register_structure_hook(CursorNotification, read_cursor)


def accepted_command(uri: str, version: int, index: int) -> types.Command:
    """Return the command to run after a candidate was accepted.

    `index` is the candidate's index, from 0, in the answer for this version of the document.
    """
    return types.Command(
        title="Accepted", command=ACCEPTED, arguments=[{"uri": uri, "version": version, "index": index}]
    )


def _candidates_params(converter: Converter, params: dict[str, Any]) -> CandidatesParams:
    span, token = params.get("range"), params.get("partialResultToken")
    if not (token is None or isinstance(token, int | str)):
        raise TypeError
    return CandidatesParams(
        converter.structure(params["textDocument"], types.TextDocumentIdentifier),
        converter.structure(params["position"], types.Position),
        None if span is None else converter.structure(span, types.Range),
        _whole(params.get("candidates")),
        token,
    )


def _cursor_params(converter: Converter, params: dict[str, Any]) -> CursorParams:
    document = params["textDocument"]
    return CursorParams(
        converter.structure(document, types.TextDocumentIdentifier),
        converter.structure(params["position"], types.Position),
        _whole(document.get("version")),
    )


def _whole(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise TypeError
    return value
