"""infill/nextEdit and textDocument/copilotInlineEdit over the wire, with the real server process."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from capabilities import NEOVIM
from editor import CURSOR, INVOKED, Editor, editor
from lsprotocol import types

TEXT = "def f(size│, b):\n    s = '🎉'; return size + b\nf(size=1, b=2)\n"
SCRIPT: dict[str, object] = {"rules": []}

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(params=["neovim", "vscode"], ids=["utf-8", "utf-16"])
def client(request: pytest.FixtureRequest) -> Editor:
    """An editor without open documents; all tests share its server."""
    made: Editor = request.getfixturevalue(request.param)
    return made


async def ask(client: Editor, uri: str, method: str = "infill/nextEdit", **document: Any) -> Any:
    position = client.position(client.texts[uri].split(CURSOR)[0])
    params = {"textDocument": {"uri": uri, **document}, "position": position}
    async with asyncio.timeout(30):
        return await client.client.protocol.send_request_async(method, params)


def at(client: Editor, uri: str, text: str, count: int = 0) -> Any:
    """The position of the occurrence `count` (from 0) of a text."""
    whole = client.texts[uri].replace(CURSOR, "")
    start = -1
    for _ in range(count + 1):
        start = whole.index(text, start + 1)
    return client.position(whole[:start])


async def test_a_rename_and_its_ranges(client: Editor) -> None:
    uri = client.open(TEXT)
    assert (await ask(client, uri)).reason == "nothing_edited"
    client.type(uri, "width", delete_left=4)
    answer = await ask(client, uri, version=3)
    assert (answer.reason, answer.version) == (None, 3)
    (proposal,) = answer.proposals
    assert (proposal.label, proposal.kind) == ("rename 2 more uses", "rename")
    starts = [(edit.range.start.line, edit.range.start.character) for edit in proposal.edits]
    expected = [at(client, uri, "size", 0), at(client, uri, "size", 1)]
    assert starts == [(place.line, place.character) for place in expected]
    assert [(edit.oldText, edit.newText) for edit in proposal.edits] == [("size", "width")] * 2


async def test_versions(client: Editor) -> None:
    uri = client.open(TEXT)
    client.type(uri, "width", delete_left=4)
    assert (await ask(client, uri, version=2)).reason == "stale"
    assert (await ask(client, uri, version=None)).proposals
    assert (await ask(client, uri)).proposals


async def test_documents_that_are_left_alone(client: Editor) -> None:
    secret = client.open(TEXT, "file:///project/.env")
    client.type(secret, "width", delete_left=4)
    assert (await ask(client, secret)).reason == "excluded"
    prose = client.open(TEXT, "file:///project/a.txt", "plaintext")
    client.type(prose, "width", delete_left=4)
    assert (await ask(client, prose)).reason == "unsupported"
    assert (await ask(client, prose, "textDocument/copilotInlineEdit")).edits == []
    client.texts["file:///nowhere"] = CURSOR
    assert (await ask(client, "file:///nowhere")).reason == "unsupported"
    del client.texts["file:///nowhere"]


async def test_next_edits_are_switched_off_by_themselves() -> None:
    async with editor(NEOVIM, SCRIPT, options={"nextEdits": False}) as client:
        uri = client.open(TEXT)
        client.type(uri, "width", delete_left=4)
        answer = await ask(client, uri)
        assert (answer.reason, answer.proposals) == ("disabled", [])
        status = await client.status()
        assert (status.enabled, status.nextEdits) == (True, False)
        client.configure({"nextEdits": True})
        assert (await ask(client, uri)).proposals
        assert (await client.status()).nextEdits
        prose = client.open(TEXT, "file:///project/a.txt", "plaintext")
        client.configure({"enable": False})
        assert (await ask(client, prose)).reason == "disabled"


async def test_a_dismissed_proposal_stays_away(client: Editor) -> None:
    uri = client.open(TEXT)
    client.type(uri, "width", delete_left=4)
    (proposal,) = (await ask(client, uri)).proposals
    client.client.protocol.notify("infill/didDismissNextEdit", {"textDocument": {"uri": uri}, "id": proposal.id})
    assert (await ask(client, uri)).reason == "dismissed"


async def test_the_form_that_copilots_clients_read(client: Editor) -> None:
    uri = client.open(TEXT)
    assert (await ask(client, uri, "textDocument/copilotInlineEdit")).edits == []
    client.type(uri, "width", delete_left=4)
    first, second = (await ask(client, uri, "textDocument/copilotInlineEdit", version=3)).edits
    assert (first.text, first.textDocument.uri, first.textDocument.version) == ("width", uri, 3)
    assert first.range.start.line == 1
    assert second.range.start.line == 2
    arguments = [{"uri": uri, "id": first.command.arguments[0].id}]
    item = {"command": {"title": "", "command": first.command.command, "arguments": arguments}}
    client.client.protocol.notify("textDocument/didShowInlineEdit", {"item": item})
    client.client.protocol.notify("textDocument/didFocus", {"textDocument": {"uri": uri}})
    provider = client.capabilities.execute_command_provider
    assert provider is not None
    assert first.command.command in provider.commands
    params = types.ExecuteCommandParams(first.command.command, arguments)
    async with asyncio.timeout(30):
        await client.client.protocol.send_request_async("workspace/executeCommand", params)


async def test_dismissal_by_command(client: Editor) -> None:
    uri = client.open(TEXT)
    client.type(uri, "width", delete_left=4)
    (proposal,) = (await ask(client, uri)).proposals
    params = types.ExecuteCommandParams("infill.nextEdit.dismiss", [{"uri": uri, "id": proposal.id}])
    async with asyncio.timeout(30):
        await client.client.protocol.send_request_async("workspace/executeCommand", params)
    assert (await ask(client, uri)).reason == "dismissed"


async def test_of_two_questions_the_older_is_superseded(client: Editor) -> None:
    uri = client.open(TEXT)
    client.type(uri, "width", delete_left=4)
    older = asyncio.ensure_future(ask(client, uri))
    await asyncio.sleep(0)
    newer = await ask(client, uri)
    assert newer.proposals
    assert (await older).reason == "superseded"


@pytest.mark.parametrize("params", [{}, {"textDocument": {}}, {"textDocument": {"uri": 1}, "position": None}, None])
async def test_what_cannot_be_read_is_refused(client: Editor, params: Any) -> None:
    with pytest.raises(Exception, match="form the protocol asks for"):
        await client.client.protocol.send_request_async("infill/nextEdit", params)
    client.client.protocol.notify("infill/didDismissNextEdit", params)
    uri = client.open(TEXT)
    assert (await ask(client, uri)).reason == "nothing_edited"


async def test_an_import_that_a_file_on_the_disk_has(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "other.py").write_text("from pathlib import Path\n")
    async with editor(NEOVIM, SCRIPT, options={"nextEditModel": False}, root=tmp_path.as_uri()) as made:
        uri = made.open("import os\n\nhome = │\n", (tmp_path / "a.py").as_uri())
        made.type(uri, "Path()")
        async with asyncio.timeout(30):
            while not (answer := await ask(made, uri)).proposals:  # the other file is read in the background
                await asyncio.sleep(0.05)
    (edit,) = answer.proposals[0].edits
    assert (edit.newText, edit.range.start.line) == ("\nfrom pathlib import Path", 0)


@pytest.mark.parametrize(
    "engine",
    [{"load_ms": 10_000}, {"step_ms": 10_000}, {"crash_after": "value = "}],
    ids=["is loading", "is busy", "has died"],
)
async def test_a_rename_comes_while_the_engine(engine: dict[str, object]) -> None:
    script = {"rules": [{"before": "", "candidates": ["one"]}], **engine}
    async with editor(NEOVIM, script, options={"budgetMs": 100}) as made:
        if "load_ms" not in engine:
            await made.ready()
        assert await made.ask(made.open("value = │\n"), kind=INVOKED) == []
        uri = made.open(TEXT)
        made.type(uri, "width", delete_left=4)
        assert [proposal.label for proposal in (await ask(made, uri)).proposals] == ["rename 2 more uses"]
