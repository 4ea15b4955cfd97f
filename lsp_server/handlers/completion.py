"""textDocument/completion, for editors without inline completion: the same candidates as list entries."""

from collections.abc import Sequence
from typing import Any

from lsprotocol import types
from pygls.capabilities import get_capability

from infill_engine.context.line_shapes import word_pattern
from infill_engine.text.languages import all_entries, language
from infill_engine.text.lines import first_line
from infill_engine.types import OVERTAKEN, Candidate
from lsp_server.documents.snapshots import Snapshot
from lsp_server.protocol.messages import accepted_command
from lsp_server.protocol.positions import to_place, to_span
from lsp_server.session import Session
from lsp_server.settings.schema import Fallback, read_settings
from lsp_server.suggestions.completions import CompletionQuery
from lsp_server.suggestions.request_builder import Insertion

CUT_OFF = " …"


def is_wanted(capabilities: types.ClientCapabilities, options: object) -> bool:
    """Return whether to offer completion, given the client's capabilities and the user's settings."""
    fallback = read_settings(options)[0].completion_fallback
    if fallback is Fallback.AUTO:
        return get_capability(capabilities, "text_document.inline_completion") is None
    return fallback is Fallback.ALWAYS


def register(session: Session) -> None:
    """Register completion. Only valid before `initialize` is answered."""
    feature: Any = session.protocol.fm.feature
    # Space is not a trigger: in editors where Enter accepts an entry, every line break after a space would accept one.
    triggers = sorted({trigger for entry in all_entries() for trigger in entry.triggers})
    options = types.CompletionOptions(trigger_characters=triggers)
    feature(types.TEXT_DOCUMENT_COMPLETION, options)(session.bound(completion))


async def completion(session: Session, params: types.CompletionParams) -> types.CompletionList | None:
    """Always answer by the deadline. Returns null for a request that was cancelled or superseded."""
    arrived = session.protocol.arrival()
    if session.workspace.settings.completion_fallback is Fallback.NEVER:
        return _list([])
    snapshot, context = session.workspace.documents.get(params.text_document.uri), params.context
    if snapshot is not None and _is_foreign_trigger(snapshot, context):
        return _list([])
    # Clients send Invoked for every identifier, too, so it has a keystroke's budget. None of them requests after a
    # deletion unless told to.
    invoked = context is None or context.trigger_kind is types.CompletionTriggerKind.Invoked
    insertion = None
    if snapshot is not None:
        place = to_place(snapshot.lines, params.position, session.client.can.encoding)
        insertion = Insertion(snapshot, place, place)
    answer = await session.completions.answer(CompletionQuery(insertion, arrived, invoked, explicit=False))
    if answer.reason in OVERTAKEN:  # the client keeps what it shows
        return None
    return _list([] if insertion is None else _items(insertion, answer.candidates, session.client.can.encoding))


def _is_foreign_trigger(snapshot: Snapshot, context: types.CompletionContext | None) -> bool:
    """Return whether the typed character is a trigger in other languages only. Clients have one list for all."""
    if context is None or context.trigger_character is None:
        return False
    by_character = context.trigger_kind is types.CompletionTriggerKind.TriggerCharacter
    return by_character and context.trigger_character not in language(snapshot.language).triggers


def _items(insertion: Insertion, candidates: Sequence[Candidate], encoding: str) -> list[types.CompletionItem]:
    snapshot, (row, column) = insertion.snapshot, insertion.start
    # Editors match an entry against the word before the cursor. A candidate does not repeat the start of that word.
    words = word_pattern(snapshot.language).finditer(snapshot.lines[row][:column])
    word = next((found[0] for found in words if found.end() == column), "")
    span = to_span(snapshot.lines, (row, column - len(word)), insertion.end, encoding)
    return [
        _item(candidate, word, span, accepted_command(snapshot.uri, snapshot.client_version, index), index)
        for index, candidate in enumerate(candidates)
    ]


def _item(
    candidate: Candidate, word: str, span: types.Range, command: types.Command, index: int
) -> types.CompletionItem:
    text = word + candidate.text
    return types.CompletionItem(
        label=_label(text),
        kind=types.CompletionItemKind.Text,
        detail=f"infill · {100 * candidate.confidence:.0f} %",
        sort_text=f"{index:02}",
        filter_text=text,
        insert_text_format=types.InsertTextFormat.PlainText,
        insert_text_mode=types.InsertTextMode.AsIs,
        text_edit=types.TextEdit(span, text),
        command=command,
    )


def _label(text: str) -> str:
    """Return the first line that is not blank."""
    shown = text.strip()
    first = first_line(shown)
    return first if first == shown else first + CUT_OFF


def _list(items: list[types.CompletionItem]) -> types.CompletionList:
    # Incomplete: each typed character may bring different candidates.
    return types.CompletionList(is_incomplete=True, items=items)
