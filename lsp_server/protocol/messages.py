"""Our extensions of the protocol: methods, commands, and the parameters that clients send.

infill/candidates   request       `CandidatesParams` -> candidates with all their details
infill/getStatus    request       the engine's state and the current settings
infill/status       notification  the same, on every change (`lsp_server.status`)
infill/lateAnswer   notification  where to ask again (`lsp_server.suggestions.late_answers`)
infill/cursor       notification  `CursorParams`, from the client: where the cursor has come to rest
infill.accepted     command       `AnswerPart`: a shown candidate was accepted
infill.dismissed    command       `AnswerPart`: the candidates shown in a document were dismissed
infill.restartEngine  command     restart the engine
infill.downloadModel  command     fetch the default model (`lsp_server.handlers.download`)

Next edits (docs/next-edit.md):

infill/nextEdit                    request       `PlaceParams` -> proposals, or why there are none
textDocument/copilotInlineEdit     request       the same, in the form that clients of GitHub's server read
infill/didDismissNextEdit          notification  `DismissedParams`: these proposals were dismissed
infill.nextEdit.dismiss            command       the same
infill.nextEdit.accept             command       a proposal was applied; the edits themselves show it
infill/lateNextEdit                notification  to the client: `{uri, version}`, where asking again finds a proposal
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
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

NEXT_EDIT = "infill/nextEdit"
INLINE_EDIT = "textDocument/copilotInlineEdit"
LATE_NEXT_EDIT = "infill/lateNextEdit"
LATE_NEXT_EDITS = "infillLateNextEdits"  # the experimental capability of a client that asks again
DID_DISMISS_NEXT_EDIT = "infill/didDismissNextEdit"
ACCEPT_NEXT_EDIT = "infill.nextEdit.accept"
DISMISS_NEXT_EDIT = "infill.nextEdit.dismiss"


class CandidatesParams(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The place to complete.

    The candidates replace `range`, which must be on one line. Without a range, they replace nothing.
    """

    text_document: types.TextDocumentIdentifier
    position: types.Position
    range: types.Range | None = None
    candidates: int | None = None
    partial_result_token: int | str | None = None


class PlaceParams(msgspec.Struct, frozen=True, rename="camel"):
    """The cursor's place. The document's version is None if the client sends none."""

    text_document: types.OptionalVersionedTextDocumentIdentifier
    position: types.Position


class FormattingOptions(msgspec.Struct, frozen=True, rename="camel"):
    """How the editor indents a document; the part of LSP's FormattingOptions that is used."""

    tab_size: int
    insert_spaces: bool


class CursorParams(PlaceParams, frozen=True, rename="camel"):
    """The cursor's place, and how the editor indents the document."""

    options: FormattingOptions | None = None


class ReportedError(msgspec.Struct, frozen=True):
    """An error that another server reports: the line where it begins, counted from 0, and what it says."""

    line: int
    message: str


class NextEditParams(PlaceParams, frozen=True, rename="camel"):
    """The cursor's place, and the errors that other servers report in the document."""

    errors: list[ReportedError] = []


class DismissedParams(msgspec.Struct, frozen=True, rename="camel"):
    """Proposals of a document that were dismissed: `id` or `ids`, without either all that are shown.

    The notification names the document as `text_document`, the command as `uri`.
    """

    text_document: types.TextDocumentIdentifier | None = None
    uri: str = ""
    id: str | None = None
    ids: list[str] | None = None


class AnswerPart(msgspec.Struct, frozen=True):
    """A candidate: its index, from 0, in the answer for a version of a document."""

    uri: str
    version: int
    index: int


REQUESTS: dict[str, type] = {CANDIDATES: CandidatesParams, NEXT_EDIT: NextEditParams, INLINE_EDIT: PlaceParams}
NOTIFICATIONS: dict[str, type] = {CURSOR: CursorParams, DID_DISMISS_NEXT_EDIT: DismissedParams}

T = TypeVar("T")


def read_argument(arguments: Sequence[object], form: type[T]) -> T | None:
    """Return the only argument of a command, which some clients put into another list; None for any other form."""
    found = arguments[0] if arguments else None
    if isinstance(found, list | tuple):
        return read_argument(found, form)
    try:
        return msgspec.convert(found, form)
    except msgspec.ValidationError:
        return None


def accepted_command(uri: str, version: int, index: int) -> types.Command:
    """Return the command to run after a candidate was accepted; see `AnswerPart`."""
    part = {"uri": uri, "version": version, "index": index}
    return types.Command(title="Accepted", command=ACCEPTED, arguments=[part])
