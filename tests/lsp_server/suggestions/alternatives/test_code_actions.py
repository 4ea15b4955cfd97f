"""Code actions over the wire, with the real server process and a scripted model."""

import asyncio
import copy
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException

sys.path.append(str(Path(__file__).parents[2]))

from capabilities import BARE, NEOVIM, VSCODE
from editor import CURSOR, Editor, editor

SCRIPT = {
    "rules": [
        {"before": "if ", "candidates": ["size > limit", "size == limit", "size >=  limit"]},
        {"before": "if size ", "candidates": ["> 1", "and"]},
        {"before": "return ", "candidates": ["size - 1", "None", "size +"]},
        {"before": "return (", "candidates": ["size - 1", "None", "size"]},
        {"before": "def fits(size):\n    ", "candidates": ["if size > 1:", "if size:"]},
        {"before": "limit:\n        ", "candidates": ["return size - 2"]},
        {"before": '"a": ', "candidates": ["2", "[3", '"x"']},
        {"before": "a = ", "candidates": ["3", "]"]},
        {"before": "emoji = '😀'; x = ", "candidates": ["beta('é')"]},
    ]
}
ABLE = {
    "codeAction": {"disabledSupport": True, "dataSupport": True, "resolveSupport": {"properties": ["edit"]}},
}
AUTOMATIC, INVOKED = types.CodeActionTriggerKind.Automatic, types.CodeActionTriggerKind.Invoked
FITS = "def fits(size):\n    if size >= limit:\n        return size + 1\n    return 0\n"

pytestmark = pytest.mark.asyncio(loop_scope="module")


def able(capabilities: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(capabilities)
    made["textDocument"] |= ABLE
    made["workspace"]["workspaceEdit"] = {"documentChanges": True}
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=[NEOVIM, VSCODE], ids=["utf-8", "utf-16"])
async def running(request: pytest.FixtureRequest) -> AsyncIterator[Editor]:
    async with editor(able(request.param), SCRIPT, options={"explicitBudgetMs": 20_000}) as made:
        await made.ready()
        yield made


@pytest.fixture
def client(running: Editor) -> Iterator[Editor]:
    yield running
    running.close_all()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def silent() -> AsyncIterator[Editor]:
    """An editor whose model proposes nothing."""
    async with editor(able(NEOVIM), {"rules": []}) as made:
        yield made


def range_of(client: Editor, uri: str, text: str) -> types.Range:
    """Where a text is; an empty one is at the cursor."""
    whole = client.texts[uri].replace(CURSOR, "")
    start = whole.index(text) if text else client.texts[uri].index(CURSOR)
    return types.Range(client.position(whole[:start]), client.position(whole[: start + len(text)]))


async def ask(client: Editor, uri: str, text: str = "", trigger: Any = INVOKED, **context: Any) -> list[Any]:
    about = types.CodeActionContext(context.pop("diagnostics", []), trigger_kind=trigger, **context)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), range_of(client, uri, text), about)
    async with asyncio.timeout(30):
        return list(await client.client.text_document_code_action_async(params) or [])


async def resolved(client: Editor, action: types.CodeAction) -> types.CodeAction:
    async with asyncio.timeout(30):
        return await client.client.code_action_resolve_async(action)


def applied(client: Editor, uri: str, action: types.CodeAction) -> str:
    """The text that an editor would have after an action; checks the version."""
    assert action.edit is not None
    assert action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert (change.text_document.uri, change.text_document.version) == (uri, client._versions[uri])
    text = client.texts[uri].replace(CURSOR, "")
    for edit in sorted(change.edits, key=lambda edit: edit.range.start, reverse=True):
        start, end = (offset(client, text, place) for place in (edit.range.start, edit.range.end))
        text = text[:start] + edit.new_text + text[end:]
    return text


def offset(client: Editor, text: str, place: types.Position) -> int:
    """Where a position is in a text with LF line ends."""
    start = sum(len(line) + 1 for line in text.split("\n")[: place.line])
    line = text[start:].split("\n")[0]
    return start + next(at for at in range(len(line) + 1) if client.position(line[:at]).character == place.character)


def titles(actions: list[Any]) -> list[str]:
    return [action.title for action in actions]


async def test_a_conditions_alternatives_are_previewed_and_applied(client: Editor) -> None:
    uri = client.open(FITS)
    actions = await ask(client, uri, "size >= limit")
    conditions = [action for action in actions if action.title.startswith("Rewrite condition: ")]
    assert titles(conditions) == ["Rewrite condition: size > limit", "Rewrite condition: size == limit"]
    assert {action.kind for action in actions} == {"refactor.rewrite.infill"}
    assert all(action.edit is None for action in actions)
    second = await resolved(client, conditions[1])
    assert applied(client, uri, second) == FITS.replace("size >= limit", "size == limit")


async def test_equal_requests_have_equal_actions(client: Editor) -> None:
    uri = client.open(FITS)
    one, other = await ask(client, uri, "size >= limit"), await ask(client, uri, "size >= limit")
    ids = [action.data["id"] for action in one if "id" in action.data]
    assert ids
    assert ids == [action.data["id"] for action in other if "id" in action.data]


async def test_a_selection_grows_to_the_nodes_around_it(client: Editor) -> None:
    uri = client.open(FITS)
    labels = {title.split()[1].rstrip(":") for title in titles(await ask(client, uri, "size + 1"))}
    assert {"expression", "statement"} <= labels
    narrow = titles(await ask(client, uri, "1\n    return"))
    assert not any("expression" in title for title in narrow)


async def test_a_document_that_changed_is_left_alone(client: Editor) -> None:
    uri = client.open(FITS + CURSOR)
    action = (await ask(client, uri, "size >= limit"))[0]
    client.type(uri, "x")
    with pytest.raises(JsonRpcException, match="has changed"):
        await resolved(client, action)


async def test_data_that_is_not_ours_is_refused(client: Editor) -> None:
    uri = client.open(FITS)
    for data in (
        None,
        {},
        {"uri": uri, "version": 0, "edits": [{"span": 1}]},
        {"uri": uri, "version": 0, "target": {"label": "code", "spans": []}},
    ):
        with pytest.raises(JsonRpcException, match="has changed"):
            await resolved(client, types.CodeAction("x", data=data))
    edit = {"span": [[0, 0], [99, 0]], "old": "", "new": "x"}
    with pytest.raises(JsonRpcException, match="has changed"):
        await resolved(client, types.CodeAction("x", data={"uri": uri, "version": 0, "edits": [edit]}))


async def test_a_syntax_error_is_fixed_first(client: Editor) -> None:
    broken = FITS.replace("if size >= limit:", "if size >= :")
    uri = client.open(broken)
    actions = await ask(client, uri, "if size >= :")
    assert actions[0].kind == "quickfix.infill"
    assert actions[0].title == "Fix code: > 1"
    assert all(action.kind == "quickfix.infill" for action in actions)
    fixed = await resolved(client, actions[0])
    assert applied(client, uri, fixed) == broken.replace("if size >= :", "if size > 1:")


async def test_an_editor_that_asks_by_itself_hears_only_of_faults(client: Editor) -> None:
    uri = client.open(FITS)
    assert await ask(client, uri, "size >= limit", AUTOMATIC) == []
    broken = client.open(FITS.replace("if size >= limit:", "if size >= :"), "file:///project/broken.py")
    (action,) = await ask(client, broken, "if size >= :", AUTOMATIC)
    assert (action.title, action.edit) == ("Fix code with infill", None)
    assert "if size" in applied(client, broken, await resolved(client, action))


async def test_a_diagnostic_decides_what_is_masked(client: Editor) -> None:
    uri = client.open(FITS)
    diagnostic = types.Diagnostic(range_of(client, uri, "size + 1"), "wrong")
    actions = await ask(client, uri, "size + 1", diagnostics=[diagnostic], only=["quickfix"])
    assert titles(actions) == ["Fix code: size - 1", "Fix code: None"]
    assert all(len(action.diagnostics) == 1 for action in actions)


async def test_one_name_with_two_diagnostics_stays_one_name(client: Editor) -> None:
    text = "def f(size):\n    return (siz + siz)\n"
    uri = client.open(text)
    spans = [types.Range(types.Position(1, at), types.Position(1, at + 3)) for at in (12, 18)]
    diagnostics = [types.Diagnostic(span, "undefined") for span in spans]
    actions = await ask(client, uri, "siz", diagnostics=diagnostics, only=["quickfix"])
    (later,) = await ask(client, uri, "siz", AUTOMATIC, diagnostics=diagnostics)
    assert titles([*actions, later]) == ["Fix name: size", "Fix name with infill"]
    fixed = text.replace("siz ", "size ").replace("siz)", "size)")
    assert applied(client, uri, await resolved(client, actions[0])) == fixed
    assert applied(client, uri, await resolved(client, later)) == fixed


@pytest.mark.parametrize(
    ("only", "expected"), [(["refactor"], True), (["refactor.rewrite"], True), (["source"], False)]
)
async def test_only_the_kinds_that_are_asked_for(client: Editor, only: list[str], expected: bool) -> None:
    uri = client.open(FITS)
    assert bool(await ask(client, uri, "size >= limit", only=only)) is expected


async def test_in_json_and_toml_only_what_parses_is_shown(client: Editor) -> None:
    uri = client.open('{"a": 1, "b": 2}\n', "file:///project/a.json", "json")
    assert titles(await ask(client, uri, "1"))[:2] == ["Rewrite value: 2", 'Rewrite value: "x"']
    toml = client.open("a = 1\nb = [1]\n", "file:///project/a.toml", "toml")
    shown = titles(await ask(client, toml, "1"))
    assert "Rewrite value: 3" in shown
    assert not any(title.endswith(": ]") for title in shown)


async def test_ranges_behind_emoji_and_windows_line_ends(client: Editor) -> None:
    text = "emoji = '😀'; x = alpha(1)\nmore = 2\n"
    uri = client.open(text.replace("\n", "\r\n"))
    client.texts[uri] = text + CURSOR
    action = next(action for action in await ask(client, uri, "alpha(1)") if "beta" in action.title)
    client.texts[uri] = text.replace("\n", "\r\n") + CURSOR
    edit = (await resolved(client, action)).edit.document_changes[0].edits[0]
    assert edit.new_text == "beta('é')"
    assert edit.range.start == client.position("emoji = '😀'; x = ")
    assert edit.range.end == client.position("emoji = '😀'; x = alpha(1)")


@pytest.mark.parametrize(
    ("text", "selected", "language", "reason"),
    [
        ("x = 1  # a comment here\n", "comment", "python", "in a comment"),
        ("x = 'some words here'\n", "words", "python", "in a string"),
        ("x = 1\n" * 600, "x = 1\n" * 550, "python", "fewer than 500 lines"),
        ("words and words\n", "words", "plaintext", "no grammar"),
        ("def f(:\n    return ((\n", "f(:\n    return", "python", "syntax error"),
        (f"x = [{'1, ' * 300}]\n", f"[{'1, ' * 300}]", "python", "fewer than 400 characters"),
        ("\n\n\n", "", "python", "no expression"),
        (f'{{"a": "{"x" * 250_000}"}}', '"a"', "json", "up to 200,000"),
        ("nothing + here\n", "nothing", "python", "no alternative"),
    ],
)
async def test_refusals_have_a_reason(client: Editor, text: str, selected: str, language: str, reason: str) -> None:
    uri = client.open(CURSOR + text, "file:///project/refused", language)
    actions = await ask(client, uri, selected, only=["refactor"])
    (action,) = actions
    assert reason in action.disabled.reason


async def test_documents_that_are_left_alone(client: Editor) -> None:
    secret = client.open(FITS, "file:///project/.env", "python")
    assert await ask(client, secret, "size >= limit") == []
    client.texts["file:///nowhere"] = FITS + CURSOR
    assert await ask(client, "file:///nowhere", "size >= limit") == []
    del client.texts["file:///nowhere"]


async def test_a_long_document_is_asked_about_like_a_short_one(client: Editor) -> None:
    uri = client.open("x = 1\n" * 20_000 + FITS)
    actions = await ask(client, uri, "size >= limit")
    assert "Rewrite condition: size > limit" in titles(actions)
    changed = applied(client, uri, await resolved(client, actions[0]))
    assert changed.startswith("x = 1\n" * 20_000)


async def test_a_client_that_can_do_little_gets_the_edit_at_once() -> None:
    async with editor(BARE, SCRIPT, options={"explicitBudgetMs": 20_000}) as bare:
        await bare.ready()
        uri = bare.open(FITS)
        action = (await ask(bare, uri, "size >= limit"))[0]
        assert action.edit.changes[uri][0].new_text == "size > limit"
        comment = bare.open("# a comment\n", "file:///project/b.py")
        assert await ask(bare, comment, "comment") == []


@pytest.mark.parametrize(
    ("broken", "language", "right"),
    [
        ("def f(xs│)\n    return xs\n", "python", "def f(xs):"),
        ("class Store│\n    pass\n", "python", "class Store:"),
        ("const a = [1, 2, 3│;\nf(a);\n", "javascript", "const a = [1, 2, 3];"),
        ("func f(a int) int {\n\tif a > 0 │\n\t\treturn a\n\t}\n\treturn -a\n}\n", "go", "\tif a > 0 {"),
        ("if (a) │\n  b();\n}\n", "javascript", "if (a) {"),
        ('{\r\n  "a" 1│\r\n}\r\n', "json", '  "a": 1'),
        ("emoji = '😀é'; x = f(1│\ny = 2\n", "python", "emoji = '😀é'; x = f(1)"),
    ],
)
async def test_syntax_is_repaired_without_a_model(silent: Editor, broken: str, language: str, right: str) -> None:
    uri = silent.open(broken, "file:///project/broken", language)
    actions = await ask(silent, uri, only=["quickfix"])
    row = broken.split(CURSOR)[0].count("\n")
    assert actions[0].kind == "quickfix.infill"
    repaired = await resolved(silent, actions[0])
    (change,) = repaired.edit.document_changes
    (edit,) = change.edits
    assert edit.range.start.line == edit.range.end.line == row
    assert edit.new_text == right.lstrip()
    silent.close_all()


async def test_an_editor_that_asks_by_itself_hears_nothing_of_lines_without_an_error(client: Editor) -> None:
    uri = client.open("if (a) │\n  b();\n}\n", "file:///project/a.js", "javascript")
    assert await ask(client, uri, "", AUTOMATIC) == []
