"""The messages of next edits and how their parameters are decoded.

infill/nextEdit                    request       `NextEditParams` -> proposals, or why there are none
textDocument/copilotInlineEdit     request       the same, in the form that clients of GitHub's server read
infill/didDismissNextEdit          notification  `SettledParams`: these proposals were dismissed
infill/didAcceptNextEdit           notification  `SettledParams`: these proposals were applied
textDocument/didShowInlineEdit     notification  a proposal was shown; ignored
textDocument/didFocus              notification  likewise ignored
infill/lateNextEdit                notification  to the client: `{uri, version}`, where asking again finds a proposal
infill.nextEdit.accept, .dismiss   commands      the two notifications for clients that only run commands
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from cattrs import Converter
from lsprotocol import types

NEXT_EDIT = "infill/nextEdit"
INLINE_EDIT = "textDocument/copilotInlineEdit"
LATE_NEXT_EDIT = "infill/lateNextEdit"
LATE_NEXT_EDITS = "infillLateNextEdits"  # the experimental capability of a client that asks again
DID_DISMISS = "infill/didDismissNextEdit"
DID_ACCEPT = "infill/didAcceptNextEdit"
DID_SHOW = "textDocument/didShowInlineEdit"
DID_FOCUS = "textDocument/didFocus"
ACCEPT = "infill.nextEdit.accept"
DISMISS = "infill.nextEdit.dismiss"


@attrs.frozen
class NextEditParams:
    """The user's position. `version` is the client's document version, None if it sends none."""

    text_document: types.TextDocumentIdentifier
    position: types.Position
    version: int | None = None


@attrs.frozen
class SettledParams:
    """Proposals of a document that were applied or dismissed. `ids` is None for all shown proposals."""

    uri: str
    ids: list[str] | None = None


@attrs.define
class NextEditRequest:
    """The whole message."""

    id: int | str
    method: str
    jsonrpc: str
    params: NextEditParams


@attrs.define
class SettledNotification:
    """The whole message. It has no id, because pygls treats any message with an id as a request."""

    method: str
    jsonrpc: str
    params: SettledParams


@attrs.define
class IgnoredNotification:
    """A message that needs no action, whatever its parameters."""

    method: str
    jsonrpc: str
    params: None = None


MESSAGES: dict[str, type] = {
    NEXT_EDIT: NextEditRequest,
    INLINE_EDIT: NextEditRequest,
    DID_DISMISS: SettledNotification,
    DID_ACCEPT: SettledNotification,
    DID_SHOW: IgnoredNotification,
    DID_FOCUS: IgnoredNotification,
}


def teach(converter: Converter) -> None:
    """Register the messages with a converter. Malformed parameters raise; unknown fields are ignored."""

    def read_request(message: dict[str, Any], _: type) -> NextEditRequest:
        params = message["params"]
        document = params["textDocument"]
        read = NextEditParams(
            converter.structure(document, types.TextDocumentIdentifier),
            converter.structure(params["position"], types.Position),
            _version(params.get("version", document.get("version"))),
        )
        return NextEditRequest(message["id"], message["method"], message["jsonrpc"], read)

    def read_settled(message: dict[str, Any], _: type) -> SettledNotification:
        params = read_settled_params(message["params"])
        if params is None:
            raise TypeError
        return SettledNotification(message["method"], message["jsonrpc"], params)

    def read_ignored(message: dict[str, Any], _: type) -> IgnoredNotification:
        return IgnoredNotification(message["method"], message["jsonrpc"])

    converter.register_structure_hook(NextEditRequest, read_request)
    converter.register_structure_hook(SettledNotification, read_settled)
    converter.register_structure_hook(IgnoredNotification, read_ignored)


def read_settled_params(params: object) -> SettledParams | None:
    """Read `{textDocument: {uri}, id}`, `{uri, ids}` and similar objects. Returns None for anything else."""
    if not isinstance(params, Mapping):
        return None
    document = params.get("textDocument")
    uri = document.get("uri") if isinstance(document, Mapping) else params.get("uri")
    ids = params.get("ids", params.get("id"))
    ids = [ids] if isinstance(ids, str) else ids
    if not isinstance(uri, str):
        return None
    if ids is not None and (not isinstance(ids, list) or not all(isinstance(one, str) for one in ids)):
        return None
    return SettledParams(uri, ids)


def read_arguments(arguments: Sequence[object]) -> SettledParams | None:
    """Read the arguments of a command. Clients send them as one list or as separate items."""
    first = arguments[0] if arguments else None
    if isinstance(first, list | tuple):
        return read_arguments(first)
    return read_settled_params(first)


def accept_command(uri: str, proposal: str) -> types.Command:
    """Return the command to run after a proposal's edits were applied."""
    return types.Command(title="Accepted", command=ACCEPT, arguments=[{"uri": uri, "id": proposal}])


def _version(value: object) -> int | None:
    if value is None or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)
