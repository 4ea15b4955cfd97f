"""An editor that drives the real server process: what it types, asks and is shown."""

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter
from prepared_models import share_prepared
from pytest_lsp import LanguageClient, make_test_lsp_client

WAIT = 30  # seconds after which a test has failed
CURSOR = "│"
SERVER = (sys.executable, "-m", "lsp_server", "--stdio")
REPOSITORY = Path(__file__).parents[2]
SCRIPTS = tempfile.TemporaryDirectory()
INVOKED = types.InlineCompletionTriggerKind.Invoked

ABSENT = {"device": "cuda" if sys.platform == "darwin" else "mps"}

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "x = a", "candidates": ["lpha(1)"]},
        {"before": "value = print", "candidates": ["(text)"]},
        {"before": "return ", "candidates": ["one", "two + three"]},
        {"before": "ab", "candidates": ["c()"]},
    ]
}

_units = {
    "utf-8": lambda text: len(text.encode()),
    "utf-16": lambda text: len(text.encode("utf-16-le")) // 2,
    "utf-32": len,
}


class Editor:
    """One running server. Its texts hold a │ where the cursor is."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder  # the server's own, also for what it keeps
        self.capabilities = types.ServerCapabilities()
        self.encoding = "utf-16"
        self.statuses: list[Any] = []
        self.previews: dict[int | str, list[Any]] = {}  # by the token that was sent along
        self.texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._news = asyncio.Event()
        self._ended = False

        @client.feature("infill/status")
        def on_status(params: Any) -> None:
            self.statuses.append(params)
            self._news.set()

        report = client.protocol.fm.features.pop(types.PROGRESS)

        @client.feature(types.PROGRESS)
        def on_progress(params: types.ProgressParams) -> None:
            if "step" in params.value:
                self.previews.setdefault(params.token, []).append(params.value)
            else:
                report(params)

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def on_register(_params: types.RegistrationParams) -> None:
            return None

    @property
    def messages(self) -> list[str]:
        return [message.message for message in self.client.messages]

    async def until(self, holds: Any) -> None:
        """Wait until something the server says makes `holds()` true."""
        async with asyncio.timeout(WAIT):
            while not holds():
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 0.05)

    async def ready(self) -> None:
        await self.until(lambda: any(status.state == "ready" for status in self.statuses[-1:]))

    def open(self, marked: str, uri: str = "file:///project/example.py", language: str = "python") -> str:
        text = marked.replace(CURSOR, "")
        item = types.TextDocumentItem(uri=uri, language_id=language, version=0, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        self.texts[uri] = marked if CURSOR in marked else marked + CURSOR
        self._versions[uri] = 0
        return uri

    def close(self, uri: str) -> None:
        params = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        self.client.text_document_did_close(params)

    def close_all(self) -> None:
        """So that no test finds the texts of another as open files."""
        for uri in self.texts:
            self.close(uri)
            self.close(uri)
        self.texts.clear()

    def configure(self, settings: dict[str, Any] | None) -> None:
        """Tell of changed settings; None says only that there are some."""
        told = None if settings is None else {"infill": settings}
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings=told))

    def position(self, text: str) -> types.Position:
        """The position after `text`, whose lines end with \\n."""
        line = text.count("\n")
        return types.Position(line, _units[self.encoding](text[text.rfind("\n") + 1 :]))

    def type(self, uri: str, inserted: str, delete_left: int = 0) -> None:
        """Replace characters left of the cursor, as one change."""
        left, right = self.texts[uri].split(CURSOR)
        kept = left[: len(left) - delete_left]
        change = types.TextDocumentContentChangePartial(
            range=types.Range(self.position(kept), self.position(left)), text=inserted
        )
        self.texts[uri] = kept + inserted + CURSOR + right
        self._versions[uri] += 3  # versions may jump
        document = types.VersionedTextDocumentIdentifier(version=self._versions[uri], uri=uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def request(
        self,
        uri: str,
        kind: types.InlineCompletionTriggerKind = types.InlineCompletionTriggerKind.Automatic,
        selected: types.SelectedCompletionInfo | None = None,
        msg_id: str | None = None,
    ) -> "asyncio.Future[Any]":
        """Ask at the cursor without waiting."""
        position = self.position(self.texts[uri].split(CURSOR)[0])
        params = types.InlineCompletionParams(
            types.InlineCompletionContext(kind, selected), types.TextDocumentIdentifier(uri), position
        )
        method = types.TEXT_DOCUMENT_INLINE_COMPLETION
        return asyncio.ensure_future(self.client.protocol.send_request_async(method, params, msg_id=msg_id))

    async def ask(self, uri: str, **options: Any) -> list[str] | None:
        """The texts offered at the cursor; None for null. Checks what every item must keep to."""
        async with asyncio.timeout(WAIT):
            result = await self.request(uri, **options)
        if result is None:
            return None
        selected = options.get("selected")
        position = self.position(self.texts[uri].split(CURSOR)[0])
        for item in result.items:
            assert isinstance(item.insert_text, str)
            assert item.range == (selected.range if selected else types.Range(position, position))
        return [item.insert_text for item in result.items]

    async def candidates(self, uri: str, **params: Any) -> Any:
        """What `infill/candidates` says of the cursor's place, or of `position`."""
        position = self.position(self.texts[uri].split(CURSOR)[0])
        params = {"textDocument": {"uri": uri}, "position": position, **params}
        async with asyncio.timeout(WAIT):
            return await self.client.protocol.send_request_async("infill/candidates", params)

    async def complete(self, uri: str, **context: Any) -> types.CompletionList | None:
        """What `textDocument/completion` offers at the cursor."""
        position = self.position(self.texts[uri].split(CURSOR)[0])
        document = types.TextDocumentIdentifier(uri)
        params = types.CompletionParams(document, position, types.CompletionContext(**context) if context else None)
        async with asyncio.timeout(WAIT):
            return await self.client.text_document_completion_async(params)

    async def end(self) -> None:
        """Leave as an editor does."""
        if not self._ended:
            self._ended = True
            async with asyncio.timeout(WAIT):
                await self.client.shutdown_session()

    async def leave(self) -> Counter[str]:
        """Leave, and read what the server has counted."""
        await self.end()
        with contextlib.closing(sqlite3.connect(self.folder / "statistics.db")) as counts:
            return Counter(dict(counts.execute("SELECT name, number FROM counts")))

    async def status(self) -> Any:
        """What `infill/getStatus` says."""
        async with asyncio.timeout(WAIT):
            return await self.client.protocol.send_request_async("infill/getStatus", {})


@contextlib.asynccontextmanager
async def editor(
    capabilities: dict[str, Any],
    script: dict[str, Any] | None = None,
    *,
    options: dict[str, Any] | None = None,
    configuration: dict[str, Any] | None = None,
    root: str | None = None,
    file: str | None = None,
) -> AsyncIterator[Editor]:
    """A server that is initialized; `script` is what its engine says, `file` the user's settings file.

    Ends it as an editor does.
    """
    with tempfile.TemporaryDirectory() as folder:
        if file is not None:
            Path(folder, "settings.json").write_text(file, encoding="utf-8")
        options = dict(options or {})
        if script is None and "model" not in options:
            share_prepared(Path(folder, "prepared"))
        if script is not None:
            options["model"] = f"scripted:{_file_of(script)}"
        client = make_test_lsp_client()
        if configuration is not None:
            client.set_configuration({"infill": configuration})
        made = Editor(client, Path(folder))
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1", "INFILL_STATE_DIR": folder}
        await client.start_io(*SERVER, cwd=folder, env=environment)
        params = types.InitializeParams(
            capabilities=get_converter().structure(capabilities, types.ClientCapabilities),
            initialization_options=options,
            root_uri=root,
        )
        result = await client.initialize_session(params)
        made.capabilities = result.capabilities
        agreed = result.capabilities.position_encoding or "utf-16"
        made.encoding = str(getattr(agreed, "value", agreed))
        assert result.capabilities.inline_completion_provider is not None
        try:
            yield made
        finally:
            await made.end()
        assert client._server is not None
        assert client._server.returncode == 0


def _file_of(script: dict[str, Any]) -> Path:
    """The file that holds a script. Servers that run at the same time with the same script share one engine."""
    text = json.dumps(script)
    path = Path(SCRIPTS.name, f"{sha256(text.encode()).hexdigest()[:16]}.json")
    if not path.is_file():
        path.write_text(text, encoding="utf-8")
    return path
