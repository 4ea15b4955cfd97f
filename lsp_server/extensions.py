"""What we add to the protocol: methods and commands of our own, and how their parameters are read.

infill/candidates   request       `CandidatesParams` -> candidates with all that is known of them
infill/getStatus    request       how the engine is, and what is set
infill/status       notification  the same, whenever it changes (`lsp_server.status`)
infill.accepted     command       a shown candidate was taken
infill.restartEngine  command     start the worker anew
"""

from typing import Any

import attrs
from cattrs import Converter
from lsprotocol import types

CANDIDATES = "infill/candidates"
GET_STATUS = "infill/getStatus"
ACCEPTED = "infill.accepted"
RESTART_ENGINE = "infill.restartEngine"


@attrs.frozen
class CandidatesParams:
    """Where to fill in. `range`, on one line, is what the candidates are to replace; without it nothing."""

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


REQUESTS = {CANDIDATES: CandidatesRequest}


def teach(converter: Converter) -> None:
    """Have a converter read our messages. What is not of the right form raises; unknown fields are ignored."""

    def read(message: dict[str, Any], _: type) -> CandidatesRequest:
        params = message["params"]
        return CandidatesRequest(message["id"], message["method"], message["jsonrpc"], _params(converter, params))

    converter.register_structure_hook(CandidatesRequest, read)


def accepted_command(uri: str, version: int, index: int) -> types.Command:
    """To be run once the candidate at `index` (from 0) of the answer for this version of a document was taken."""
    return types.Command(
        title="Accepted", command=ACCEPTED, arguments=[{"uri": uri, "version": version, "index": index}]
    )


def _params(converter: Converter, params: dict[str, Any]) -> CandidatesParams:
    span, count, token = params.get("range"), params.get("candidates"), params.get("partialResultToken")
    if not (count is None or (isinstance(count, int) and not isinstance(count, bool))):
        raise TypeError
    if not (token is None or isinstance(token, int | str)):
        raise TypeError
    return CandidatesParams(
        converter.structure(params["textDocument"], types.TextDocumentIdentifier),
        converter.structure(params["position"], types.Position),
        None if span is None else converter.structure(span, types.Range),
        count,
        token,
    )
