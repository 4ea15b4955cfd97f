"""What the server knows about the editor: what it can do, what it has set, and whether it is still there."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from lsprotocol import types
from pygls.capabilities import get_capability

from lsp_server.protocol.messages import LATE_ANSWERS, LATE_NEXT_EDITS


@dataclass(frozen=True, slots=True)
class ClientFeatures:
    """The client's capabilities that change what this server does."""

    encoding: str = "utf-16"  # of positions
    shows_progress: bool = False
    sends_settings: bool = False  # when it is asked for them
    registers_settings: bool = False  # to be told when they change
    takes_document_changes: bool = False  # workspace edits with the version of each document
    shows_disabled: bool = False  # code actions that cannot be chosen, with the reason
    resolves_edits: bool = False  # asks for the edit of a code action when it is chosen
    takes_late_answers: bool = False  # asks again when it is told that there is more to show
    takes_late_next_edits: bool = False  # the same for next edits

    @classmethod
    def of(cls, capabilities: types.ClientCapabilities, encoding: str) -> "ClientFeatures":
        """Return what a client has announced; `encoding` is the one that was agreed on."""

        def has(name: str) -> bool:
            return bool(get_capability(capabilities, name))

        def knows(name: str) -> bool:
            experimental = capabilities.experimental
            return isinstance(experimental, Mapping) and experimental.get(name) is True

        resolved = get_capability(capabilities, "text_document.code_action.resolve_support.properties")
        return cls(
            encoding,
            has("window.work_done_progress"),
            has("workspace.configuration"),
            has("workspace.did_change_configuration.dynamic_registration"),
            has("workspace.workspace_edit.document_changes"),
            has("text_document.code_action.disabled_support"),
            "edit" in (resolved or ()),
            knows(LATE_ANSWERS),
            knows(LATE_NEXT_EDITS),
        )


@dataclass(eq=False, slots=True)
class ClientState:
    """The client of this connection."""

    can: ClientFeatures = field(default_factory=ClientFeatures)
    process: int = 0  # process id; 0 if the client sent none
    first_options: object = None  # its initialization options
    later_options: object = field(default_factory=dict[str, object])  # sent since then, merged over the first ones
    offers_completion: bool = False  # whether this server announced textDocument/completion to it
    initialized: bool = False
    left: asyncio.Event = field(default_factory=asyncio.Event)  # its process ended without `exit`
