"""A hardened protocol layer: no input crashes it, every request gets a response, and no document text reaches a log.

pygls decodes strictly while it parses JSON, so a request with `"triggerKind": 0` would get no response at all. Here a
message that does not decode is repaired once (positions clamped, unknown trigger kinds set to Automatic, missing
parameters filled in) and otherwise refused.
"""

import logging
from collections.abc import Callable
from typing import Any

import msgspec
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, LanguageServerProtocol

from infill_engine.budget.deadline import now
from lsp_server.protocol.messages import NOTIFICATIONS, REQUESTS
from lsp_server.protocol.pygls_internals import refuse

MOST = 2**31 - 1  # the largest integer that the protocol allows

log = logging.getLogger(__name__)

# We store the documents ourselves. The copies in pygls would cost milliseconds per keystroke and miscount lines.
_OWN = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)


def silence_libraries() -> None:
    """Keep message bodies, which contain the user's code, out of every log."""
    for name in ("pygls", "lsprotocol", "cattrs", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


class WireProtocol(LanguageServerProtocol):
    """A lenient `LanguageServerProtocol` that knows our own methods and does not store documents."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._introduced = False  # whether the client has sent `initialize`
        self._leaving = False  # whether the client has sent `shutdown`
        self._arrived: float | None = None  # when the newest message arrived; None if nobody has said so
        for method in _OWN:
            self.fm.builtin_features.pop(method, None)

    def arrival(self) -> float:
        """Return when the message that is being handled arrived, in seconds of `deadline.now`. Ask before waiting."""
        return now() if self._arrived is None else self._arrived

    def message_arrived(self, moment: float) -> None:
        """Note when the message that is handled next arrived, in seconds of `deadline.now`."""
        self._arrived = moment

    def structure_message(self, data: Any) -> Any:
        """Return `data` unchanged. The JSON parser calls this per object; `handle_message` decodes whole messages."""
        return data

    def handle_message(self, message: Any) -> None:
        """Decode a message and dispatch it. Raises only what ends the server."""
        if not isinstance(message, dict):
            log.warning("ignored a message that is not an object")
            return
        if "id" in message and "method" in message and (refusal := self._lifecycle_error(message["method"])):
            self._refuse(message, refusal)
            return
        try:
            decoded = self._decode(message)
            if "id" in message and "method" in message and getattr(decoded, "id", None) is None:
                self._refuse(message, JsonRpcInvalidRequest("This method is a notification, and has no id."))
                return
            super().handle_message(decoded)
        except Exception as fault:
            log.warning("could not handle a %r message: %s", message.get("method"), type(fault).__name__)
            self._refuse(message, JsonRpcInvalidParams("The parameters do not have the form the protocol asks for."))

    def _lifecycle_error(self, method: object) -> JsonRpcException | None:
        """Return an error if a request of this method comes before `initialize` or after `shutdown`."""
        if self._leaving:
            return JsonRpcInvalidRequest("The server is shutting down.")
        introduces = method == types.INITIALIZE
        if introduces and self._introduced:
            return JsonRpcInvalidRequest("The server is initialized already.")
        if not introduces and not self._introduced:
            return JsonRpcServerNotInitialized("Send initialize first.")
        self._introduced = True
        self._leaving = method == types.SHUTDOWN
        return None

    def _decode(self, message: dict[str, Any]) -> Any:
        message["jsonrpc"] = self.VERSION
        if message.get("method") == types.INITIALIZE:
            _null_means_supported(message)
        method = message.get("method", "")
        if method in REQUESTS:
            return JsonRPCRequestMessage(message["id"], method, self.VERSION, _params(message, REQUESTS[method]))
        if method in NOTIFICATIONS:
            return JsonRPCNotification(method, self.VERSION, _params(message, NOTIFICATIONS[method]))
        try:
            return super().structure_message(message)
        except JsonRpcException:
            return super().structure_message(repaired(message))

    def _refuse(self, message: dict[str, Any], error: JsonRpcException) -> None:
        request_id = message.get("id")
        if "method" in message and isinstance(request_id, str | int):
            refuse(self, request_id, error.to_response_error())
        elif "method" not in message and isinstance(request_id, str | int):
            # The answer to our own request cannot be decoded. Fail its future, so that nothing waits forever.
            answer: Any = types.ResponseErrorMessage(id=request_id, error=error.to_response_error())
            super().handle_message(answer)


def _params(message: dict[str, Any], form: type) -> Any:
    """Return the parameters of one of our own messages. Unknown fields are ignored. Raises ValidationError."""
    return msgspec.convert(repaired(message)["params"], form)


def repaired(message: dict[str, Any]) -> Any:
    """Return a copy with numbers clamped to the protocol's range, a known trigger kind, and parameters present."""
    copy = _in_range(message)
    if "method" in copy:
        copy.setdefault("params", {})
    params = copy.get("params")
    if isinstance(params, dict):
        repair = _REPAIRS.get(copy.get("method", ""))
        if repair is not None:
            repair(params)
    return copy


def _repair_inline_completion(params: dict[str, Any]) -> None:
    context = params.get("context")
    params["context"] = context if isinstance(context, dict) else {}
    if params["context"].get("triggerKind") not in (1, 2):
        params["context"]["triggerKind"] = types.InlineCompletionTriggerKind.Automatic.value


def _repair_text(params: dict[str, Any]) -> None:
    """Fill in missing versions (optional in protocol version 3) and treat a null range as the whole text."""
    document, events = params.get("textDocument"), params.get("contentChanges")
    if isinstance(document, dict) and not isinstance(document.get("version"), int):
        document["version"] = 0
    for event in events if isinstance(events, list) else []:
        if isinstance(event, dict) and event.get("range", ...) is None:
            del event["range"]


_REPAIRS: dict[str, Callable[[dict[str, Any]], None]] = {
    types.TEXT_DOCUMENT_INLINE_COMPLETION: _repair_inline_completion,
    types.TEXT_DOCUMENT_DID_OPEN: _repair_text,
    types.TEXT_DOCUMENT_DID_CHANGE: _repair_text,
}


def _null_means_supported(message: dict[str, Any]) -> None:
    """Read a null inlineCompletion capability as supported: Emacs' lsp-mode announces its support that way."""
    value: Any = message
    for key in ("params", "capabilities", "textDocument"):
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, dict) and value.get("inlineCompletion", ...) is None:
        value["inlineCompletion"] = {}


def _in_range(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_range(item) for item in value]
    if not isinstance(value, dict):
        return value
    copy = {key: _in_range(item) for key, item in value.items()}
    for key in ("line", "character", "rangeLength"):
        if key in copy:
            copy[key] = _natural(copy[key])
    if isinstance(copy.get("version"), float):
        copy["version"] = int(copy["version"])
    return copy


def _natural(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return 0
    return int(min(max(value, 0), MOST))
