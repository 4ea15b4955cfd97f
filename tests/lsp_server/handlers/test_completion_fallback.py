"""Ordinary completion for editors that know no inline completion: who gets it, and what an entry is."""

from typing import Any

import pytest
from capabilities import BARE, NEOVIM, VSCODE
from editor import Editor, editor
from lsprotocol import types

from lsp_server.handlers.completion import is_wanted
from lsp_server.server import create_server

SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "value = pr", "candidates": ["int(a)", "ecious"]},
        {"before": "naïve_né", "candidates": ["e(a)"]},
        {"before": "def f():\n    ", "candidates": ["a = 1\n    return a\n"]},
    ]
}
WEAK = types.CompletionTriggerKind.TriggerCharacter
AGAIN = types.CompletionTriggerKind.TriggerForIncompleteCompletions

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_client_that_cannot_do_better_is_offered_completion(bare: Editor, neovim: Editor) -> None:
    provider = bare.capabilities.completion_provider
    assert provider is not None
    assert " " not in provider.trigger_characters
    assert not provider.resolve_provider
    assert neovim.capabilities.completion_provider is None


WANTED = [
    # what the client can do, the setting, and whether it is offered completion
    (BARE, None, True),
    (BARE, False, False),
    (BARE, "auto", True),
    (NEOVIM, None, False),
    (NEOVIM, True, True),
    (VSCODE, None, False),
    (VSCODE, "nonsense", False),
    ({"textDocument": {}}, None, True),
    ({"textDocument": {"inlineCompletion": {}}}, None, False),
    ({"textDocument": {"inlineCompletion": None}}, None, False),  # Emacs' lsp-mode means yes
    ({"textDocument": None}, None, True),
]


@pytest.mark.parametrize(("capabilities", "fallback", "expected"), WANTED, ids=str)
async def test_who_is_offered_completion(capabilities: dict[str, Any], fallback: object, expected: bool) -> None:
    server, _ = create_server()
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    message = server.protocol._decode({"id": 1, "method": "initialize", "params": params})
    assert is_wanted(message.params.capabilities, {"completionFallback": fallback}) is expected


async def test_the_same_candidates_in_the_same_order(bare: Editor) -> None:
    uri = bare.open("x = │\nrest()\n", "file:///project/same.py")
    listed = await bare.complete(uri)
    assert listed.is_incomplete
    assert [item.label for item in listed.items] == await bare.ask(uri) == ["alpha(1)", "beta(2)"]
    assert [item.sort_text for item in listed.items] == ["00", "01"]
    first = listed.items[0]
    shown = round(100 * (await bare.candidates(uri)).candidates[0].confidence)
    assert first.detail == f"infill · {shown} %"
    assert first.text_edit == types.TextEdit(types.Range(types.Position(0, 4), types.Position(0, 4)), "alpha(1)")
    assert (first.insert_text_format, first.preselect) == (types.InsertTextFormat.PlainText, None)
    assert first.command.command == "infill.accepted"


WORDS = [
    # the text, the column where the word begins in UTF-16 units, and what replaces it
    ("value = pr│", 8, ["print(a)", "precious"]),
    ("'😀'; value = pr│)", 14, ["print(a)", "precious"]),
    ("naïve_né│\n", 0, ["naïve_née(a)"]),
]


@pytest.mark.parametrize(("marked", "start", "expected"), WORDS)
async def test_the_word_before_the_cursor_is_part_of_an_entry(
    bare: Editor, marked: str, start: int, expected: list[str]
) -> None:
    uri = bare.open(marked, "file:///project/words.py")
    listed = await bare.complete(uri)
    assert [item.text_edit.new_text for item in listed.items] == expected
    assert [item.filter_text for item in listed.items] == expected
    cursor = bare.position(marked.split("│")[0])
    for item in listed.items:
        assert item.text_edit.range == types.Range(types.Position(0, start), cursor)


async def test_several_lines_have_a_label_of_one(bare: Editor) -> None:
    uri = bare.open("def f():\n    │", "file:///project/lines.py")
    (item,) = (await bare.complete(uri)).items
    assert item.label == "a = 1 …"
    assert item.text_edit.new_text.startswith("a = 1\n    return a")
    assert item.insert_text_mode is types.InsertTextMode.AsIs


async def test_what_was_not_asked_for_by_hand(bare: Editor) -> None:
    uri = bare.open("x = ab│\n", "file:///project/hand.py")
    bare.type(uri, "", delete_left=2)
    for kind in (WEAK, AGAIN):
        assert not (await bare.complete(uri, trigger_kind=kind)).items
    asked = await bare.complete(uri, trigger_kind=types.CompletionTriggerKind.Invoked)
    assert [item.label for item in asked.items] == ["alpha(1)", "beta(2)"]
    bare.configure({"showThreshold": 1.0})
    assert not (await bare.complete(uri)).items
    bare.configure({"showThreshold": 0.1})


async def test_silence_is_an_empty_list(bare: Editor) -> None:
    uri = bare.open("nothing known│", "file:///project/silence.py")
    assert not (await bare.complete(uri)).items
    bare.configure({"completionFallback": False})
    uri = bare.open("x = │", "file:///project/off.py")
    assert not (await bare.complete(uri)).items
    bare.configure({"completionFallback": "auto"})
    assert len((await bare.complete(uri)).items) == 2


async def test_switching_it_on_later_is_refused_in_words() -> None:
    async with editor(NEOVIM, SCRIPT) as made:
        await made.ready()
        made.configure({"completionFallback": True})
        await made.until(lambda: made.messages)
        (message,) = made.messages
        assert "completionFallback" in message
        assert "initialization options" in message
