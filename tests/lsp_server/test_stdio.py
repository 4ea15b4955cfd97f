"""The real server process over real pipes, driven as two editors drive it. The engine is real, its model scripted."""

import asyncio

import psutil
import pytest
from editor import INVOKED, Editor
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_neovim_speaks_bytes_and_gets_several_candidates_unasked(neovim: Editor) -> None:
    assert neovim.encoding == "utf-8"
    uri = neovim.open("label = '😀é'; x = │\nrest()\n", "file:///project/neovim.py")
    assert await neovim.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_neovim_types_without_ever_cancelling(neovim: Editor) -> None:
    uri = neovim.open("│\nrest()\n", "file:///project/burst.py")
    asked = []
    for character in "value(x)\nx = ":
        neovim.type(uri, character)
        asked.append(neovim.request(uri))
    results = await asyncio.wait_for(asyncio.gather(*asked), 30)
    assert [item.insert_text for item in results[-1].items] == ["alpha(1)", "beta(2)"]
    # What was overtaken keeps the ghost text (null); it never shows a candidate for an older text.
    assert all(result is None or not result.items for result in results[:-1])


async def test_several_changes_in_one_notification(neovim: Editor) -> None:
    uri = neovim.open("│\n", "file:///project/batch.py")
    changes = [
        types.TextDocumentContentChangePartial(
            range=types.Range(types.Position(0, at), types.Position(0, at)), text=character
        )
        for at, character in enumerate("x = ")
    ]
    document = types.VersionedTextDocumentIdentifier(version=9, uri=uri)
    neovim.client.text_document_did_change(types.DidChangeTextDocumentParams(document, changes))
    neovim.texts[uri] = "x = │\n"
    assert await neovim.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_after_a_deletion_only_an_explicit_request_is_answered(neovim: Editor) -> None:
    uri = neovim.open("x = ab│\n", "file:///project/delete.py")
    neovim.type(uri, "", delete_left=2)
    assert await neovim.ask(uri) == []
    assert await neovim.ask(uri, kind=INVOKED) == ["alpha(1)", "beta(2)"]
    neovim.type(uri, "a")
    assert await neovim.ask(uri) == ["lpha(1)"]


async def test_after_a_deletion_elsewhere_lines_are_answered(neovim: Editor) -> None:
    uri = neovim.open("ab│\n", "file:///project/elsewhere.py")
    neovim.type(uri, "x = \n")
    neovim.type(uri, "", delete_left=1)
    assert await neovim.ask(uri) == []
    neovim.open("x = \nab│\n", uri)
    neovim.type(uri, "", delete_left=1)
    neovim.texts[uri] = "x = │\na\n"  # the cursor moves
    assert await neovim.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_after_an_undo_only_an_explicit_request_is_answered(neovim: Editor) -> None:
    uri = neovim.open("    return │\n", "file:///project/undo.py")
    neovim.type(uri, "one", delete_left=0)
    neovim.type(uri, "", delete_left=3)
    assert await neovim.ask(uri) == []
    assert await neovim.ask(uri, kind=INVOKED) == ["one", "two + three"]
    assert [status.reason for status in neovim.statuses[-2:]] == ["undo", None]


async def test_lines_end_where_the_protocol_says(neovim: Editor) -> None:
    uri = neovim.open("f('\x0c\u2028')\ng('\x85')\nx = │\nrest\n", "file:///project/odd.py")
    assert await neovim.ask(uri) == ["alpha(1)", "beta(2)"]
    uri = neovim.open("f(1)\r\ng(2)\rx = │\r\nrest\r\n", "file:///project/crlf.py")
    neovim.texts[uri] = "f(1)\ng(2)\nx = │\nrest\n"  # for counting rows
    assert await neovim.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_a_document_opened_twice_and_closed_once(neovim: Editor) -> None:
    uri = neovim.open("x = │", "file:///project/twice.py")
    neovim.open("return │", uri)
    neovim.close(uri)
    assert await neovim.ask(uri) == ["one", "two + three"]
    neovim.close(uri)
    assert await neovim.ask(uri) == []
    neovim.open("x = │", uri)
    assert await neovim.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_a_file_of_twenty_thousand_lines(neovim: Editor) -> None:
    above = "".join(f"def function_{n}(a, b):\n    return a + {n}\n\n" for n in range(6700))
    uri = neovim.open(above + "│\n", "file:///project/large.py")
    for character in "x = ":
        neovim.type(uri, character)
    assert await neovim.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_vscode_counts_in_utf_16_and_gets_the_same_when_it_asks_again(vscode: Editor) -> None:
    assert vscode.encoding == "utf-16"
    uri = vscode.open("label = '😀é'; x = │ # 😀\n", "file:///project/vscode.py")
    automatic = await vscode.ask(uri)
    assert automatic == ["alpha(1)", "beta(2)"]
    assert await vscode.ask(uri, kind=INVOKED) == automatic
    assert await vscode.ask(uri, kind=INVOKED) == automatic


async def test_a_selected_completion_is_kept_and_built_upon(vscode: Editor) -> None:
    uri = vscode.open("'😀'; value = pri│\n", "file:///project/selected.py")
    span = types.Range(vscode.position("'😀'; value = "), vscode.position("'😀'; value = pri"))
    selected = types.SelectedCompletionInfo(range=span, text="print")
    assert await vscode.ask(uri, selected=selected) == ["print(text)"]


async def test_a_notebook_cell_and_an_untitled_document(vscode: Editor) -> None:
    for uri in (
        "vscode-notebook-cell:/project/n.ipynb#X20",
        "untitled:Untitled-1",
        "not a uri at all",
        "http://[::bad",
    ):
        vscode.open("x = │", uri)
        assert await vscode.ask(uri) == ["alpha(1)", "beta(2)"]


async def test_secrets_are_left_alone(vscode: Editor) -> None:
    for uri in ("file:///project/.env", "file:///home/me/.ssh/id_rsa", "file:///project/key%20one.pem"):
        vscode.open("x = │", uri)
        assert await vscode.ask(uri, kind=INVOKED) == []
        assert vscode.statuses[-1].reason == "excluded"


async def test_settings_change_while_it_runs(vscode: Editor) -> None:
    uri = vscode.open("x = │", "file:///project/settings.py")
    changes = [
        ({"candidates": 1}, ["alpha(1)"]),
        ({}, ["alpha(1)", "beta(2)"]),  # what is told no more is the default again
        ({"showThreshold": 1.0}, []),
        ({"languages": {"python": False}}, []),
        ({"languages": ["python"], "excludes": ["sett*.py"]}, []),
        ({"excludes": []}, ["alpha(1)", "beta(2)"]),
    ]
    for told, expected in changes:
        vscode.configure(told)
        assert await vscode.ask(uri) == expected
        explicit = [] if expected == [] and "showThreshold" not in told else ["alpha(1)", "beta(2)"]
        if "showThreshold" in told and told["showThreshold"] == 1.0:
            assert await vscode.ask(uri, kind=INVOKED) == explicit


async def test_bad_settings_are_named_once_and_replaced(vscode: Editor) -> None:
    for _ in range(2):
        vscode.configure({"budgetMs": "fast", "colour": 1, "excludes": []})
    uri = vscode.open("x = │", "file:///project/bad_settings.py")
    assert await vscode.ask(uri) == ["alpha(1)", "beta(2)"]
    assert len([m for m in vscode.messages if "budgetMs" in m and '"fast"' in m and "milliseconds" in m]) == 1
    assert len([m for m in vscode.messages if '"colour"' in m]) == 1
    vscode.configure({"budgetMs": 5000, "colour": None})


async def test_the_server_stays_small_and_without_torch(vscode: Editor) -> None:
    server = psutil.Process(vscode.client._server.pid)
    assert server.memory_info().rss < 90 * 1024 * 1024
    assert not any("torch" in mapped.path for mapped in server.memory_maps())


async def test_restarting_the_engine_by_command(vscode: Editor) -> None:
    worker = psutil.Process((await vscode.status()).workerPid)
    del vscode.statuses[:]
    params = types.ExecuteCommandParams(command="infill.restartEngine", arguments=[])
    await vscode.client.workspace_execute_command_async(params)
    await vscode.ready()
    assert not worker.is_running()
    assert await vscode.ask(vscode.open("x = │", "file:///project/restarted.py")) == ["alpha(1)", "beta(2)"]
