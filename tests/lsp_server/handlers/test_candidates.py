"""`infill/candidates` and `infill/getStatus` on the real wire: inline's answers, ranges, the canvas as it grows."""

import asyncio
from typing import Any

import psutil
import pytest
from capabilities import NEOVIM, VSCODE
from editor import Editor, editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

INVOKED = types.InlineCompletionTriggerKind.Invoked
SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "slowly = ", "candidates": ["né()"]},
        {"before": "call(", "candidates": ["first", "second"]},
        {"before": "return ", "candidates": ["one", "two + three"]},
    ]
}

pytestmark = pytest.mark.asyncio(loop_scope="module")


def texts(result: Any) -> list[str]:
    return [item.insertText for item in result.candidates]


def span(start: int, end: int, line: int = 0) -> types.Range:
    return types.Range(types.Position(line, start), types.Position(line, end))


async def test_everything_that_is_known_is_told(vscode: Editor) -> None:
    uri = vscode.open("x = │\n", "file:///project/told.py")
    vscode.type(uri, "")
    result = await vscode.candidates(uri)
    assert texts(result) == ["alpha(1)", "beta(2)"]
    first = result.candidates[0]
    assert (first.partial, first.source) == (False, "model")
    assert 0 < first.confidence <= 1
    assert first.steps >= 1
    assert (first.range.start.character, first.range.end.character) == (4, 4)
    assert (result.reason, result.budgetMs, result.device, result.version) == (None, 5000, "cpu", 3)
    assert result.model.startswith("scripted:")
    assert 0 < result.elapsedMs < 5000


async def test_it_begins_with_what_inline_completion_gives(vscode: Editor) -> None:
    uri = vscode.open("x = │\n", "file:///project/same.py")
    inline = await vscode.ask(uri)
    assert texts(await vscode.candidates(uri)) == inline == ["alpha(1)", "beta(2)"]
    assert texts(await vscode.candidates(uri, candidates=1)) == inline[:1]
    assert texts(await vscode.candidates(uri, candidates=9)) == inline
    assert texts(await vscode.candidates(uri, candidates=-3)) == inline[:1]
    assert await vscode.ask(uri, kind=INVOKED) == inline


RANGES = [
    # the text, the range's columns in UTF-16 units, and what is to be put there
    ("x = old│\n", (4, 7), ["alpha(1)", "beta(2)"]),
    ("x = │old\n", (4, 7), ["alpha(1)", "beta(2)"]),
    ("'😀'; x = old│\n", (10, 13), ["alpha(1)", "beta(2)"]),
    ("call(wrong│)\n", (5, 10), ["first", "second"]),
    ("x = │\n", (4, 4), ["alpha(1)", "beta(2)"]),
    ("x = old│\n", (7, 4), ["alpha(1)", "beta(2)"]),  # turned round
]


@pytest.mark.parametrize(("marked", "columns", "expected"), RANGES)
async def test_a_range_is_the_hole(vscode: Editor, marked: str, columns: tuple[int, int], expected: list[str]) -> None:
    uri = vscode.open(marked, "file:///project/range.py")
    result = await vscode.candidates(uri, range=span(*columns))
    assert texts(result) == expected
    for item in result.candidates:
        assert [item.range.start.character, item.range.end.character] == sorted(columns)


async def test_a_range_over_lines_is_refused_in_words(vscode: Editor) -> None:
    uri = vscode.open("x = │\ny = 1\n", "file:///project/lines.py")
    over = types.Range(types.Position(0, 4), types.Position(1, 0))
    with pytest.raises(JsonRpcException, match="one line"):
        await vscode.candidates(uri, range=over)


REFUSED = [
    {"position": None},
    {"position": "here"},
    {"textDocument": None},
    {"range": 5},
    {"candidates": "four"},
    {"partialResultToken": ["t"]},
]


@pytest.mark.parametrize("params", REFUSED, ids=str)
async def test_parameters_that_mean_nothing_are_refused(vscode: Editor, params: dict[str, Any]) -> None:
    uri = vscode.open("x = │\n", "file:///project/refused.py")
    with pytest.raises(JsonRpcException):
        await vscode.candidates(uri, **params)
    assert texts(await vscode.candidates(uri)) == ["alpha(1)", "beta(2)"]


async def test_it_counts_as_asked_for(vscode: Editor) -> None:
    uri = vscode.open("x = ab│\n", "file:///project/deleted.py")
    vscode.type(uri, "", delete_left=2)
    vscode.configure({"showThreshold": 1.0})
    assert await vscode.ask(uri) == []
    assert texts(await vscode.candidates(uri)) == ["alpha(1)", "beta(2)"]
    vscode.configure({"showThreshold": 0.1})


async def test_who_types_what_they_asked_to_see_goes_on_seeing_it() -> None:
    async with editor(NEOVIM, SCRIPT, options={"budgetMs": 5000, "showThreshold": 1.0}) as made:
        await made.ready()
        uri = made.open("x = │\n")
        assert await made.ask(uri) == []
        made.type(uri, "b")
        assert await made.ask(uri) == []  # nobody has seen it
        made.type(uri, "", delete_left=1)
        assert texts(await made.candidates(uri)) == ["alpha(1)", "beta(2)"]
        made.type(uri, "b")
        assert await made.ask(uri) == ["eta(2)"]
        made.type(uri, "e")
        assert await made.ask(uri) == await made.ask(uri) == ["ta(2)"]
        made.texts[uri] = "x = │be\n"  # the cursor goes elsewhere
        assert await made.ask(uri) == []
        made.texts[uri] = "x = be│\n"
        assert await made.ask(uri) == ["ta(2)"]
        made.type(uri, "x")
        assert await made.ask(uri) == []
        made.type(uri, "", delete_left=1)
        made.type(uri, "t")  # back on the way, but it had been left
        assert await made.ask(uri) == []


SILENCES = [
    ("nothing known here│", "file:///project/blank.py", "blank"),
    ("x = │", "file:///project/.env", "excluded"),
    (None, "file:///project/unopened.py", "unsupported"),
]


@pytest.mark.parametrize(("marked", "uri", "reason"), SILENCES)
async def test_a_silence_has_its_reason(vscode: Editor, marked: str | None, uri: str, reason: str) -> None:
    if marked is None:
        vscode.texts[uri] = "│"
    else:
        vscode.open(marked, uri)
    result = await vscode.candidates(uri)
    assert (result.candidates, result.reason) == ([], reason)
    assert (await vscode.status()).reason == reason


async def test_the_status_on_request(vscode: Editor) -> None:
    uri = vscode.open("x = │", "file:///project/status.py")
    await vscode.ask(uri)
    status = await vscode.status()
    assert (status.state, status.reason) == ("ready", None)
    assert psutil.Process(status.workerPid).ppid() == vscode.client._server.pid
    assert (status.budgetMs, status.explicitBudgetMs) == (5000, 5000)
    assert (status.candidates, status.enabled, status.device) == (4, True, "cpu")
    assert status.lastElapsedMs > 0
    assert status.levels.quiet.showFrom > status.levels.balanced.showFrom > status.levels.eager.showFrom
    vscode.configure({"eagerness": "eager"})
    assert (await vscode.status()).eagerness == "eager"
    vscode.configure({"eagerness": "eager", "showThreshold": 0.1})  # takes the place of a level
    assert (await vscode.status()).eagerness is None


async def test_the_canvas_is_shown_while_it_is_denoised_to_whoever_asked() -> None:
    script = {**SCRIPT, "steps": 3, "step_ms": 30}
    async with editor(VSCODE, script, options={"budgetMs": 5000, "candidates": 2}) as made:
        await made.ready()
        uri = made.open("import a\nslowly = │\n")
        assert texts(await made.candidates(uri, partialResultToken="seen")) == ["né()"]
        steps = made.previews["seen"]
        assert [value["step"] for value in steps] == list(range(1, len(steps) + 1))
        assert len(steps) >= 2
        (first,), (last,) = steps[0]["rows"], steps[-1]["rows"]
        assert {slot["state"] for slot in first["slots"]} == {"open", "committed"}
        assert {slot["state"] for slot in last["slots"]} == {"committed"}
        assert "".join(slot["text"] for slot in last["slots"]) == "né()"  # é takes two slots here
        assert all(0.5 < slot["confidence"] <= 1 for slot in last["slots"])
        assert last["source"] == "model"

        assert texts(await made.candidates(uri, partialResultToken="cached")) == ["né()"]
        assert "cached" not in made.previews
        uri = made.open("x = │\n", "file:///project/unwatched.py")
        assert texts(await made.candidates(uri)) == ["alpha(1)", "beta(2)"]
        assert list(made.previews) == ["seen"]


async def test_somebody_who_joins_sees_the_rest() -> None:
    script = {**SCRIPT, "steps": 12, "step_ms": 200}
    async with editor(VSCODE, script, options={"budgetMs": 5000}) as made:
        await made.ready()
        uri = made.open("x =│\n")
        made.type(uri, " ")
        first = asyncio.ensure_future(made.candidates(uri))  # one that a keystroke started has less time
        await asyncio.sleep(1.0)
        result = await made.candidates(uri, partialResultToken=1)
        assert texts(await first) == texts(result) == ["alpha(1)", "beta(2)"]
        steps = [value["step"] for value in made.previews[1]]
        assert steps == list(range(steps[0], steps[0] + len(steps)))
        assert steps[0] > 1
        last = made.previews[1][-1]["rows"][0]["slots"]
        assert {slot["state"] for slot in last} == {"committed"}


async def test_it_is_thinking_and_then_ready_again() -> None:
    script = {**SCRIPT, "steps": 2, "step_ms": 100}
    async with editor(NEOVIM, script, options={"budgetMs": 5000}) as made:
        await made.ready()
        uri = made.open("x = │\n")
        del made.statuses[:]
        await made.candidates(uri)
        await made.until(lambda: made.statuses and made.statuses[-1].state == "ready")
        assert [status.state for status in made.statuses] == ["thinking", "ready"]
        assert made.statuses[-1].lastElapsedMs >= 100
        await made.candidates(uri)  # from the cache, too fast to be seen
        uri = made.open("return │\n", "file:///project/automatic.py")
        await made.ask(uri)  # nobody waits for this one
        assert "thinking" not in [status.state for status in made.statuses[2:]]

        # One that takes the place of another goes on thinking.
        uri = made.open("call(│\n", "file:///project/twice.py")
        del made.statuses[:]
        overtaken = asyncio.ensure_future(made.candidates(uri))
        await asyncio.sleep(0.1)
        await asyncio.gather(overtaken, made.candidates(uri, range=span(0, 5)))
        assert overtaken.result().reason == "superseded"
        await made.until(lambda: made.statuses[-1].state == "ready")
        assert [status.state for status in made.statuses] == ["thinking", "ready"]


async def test_a_late_answer_shows_nothing_old() -> None:
    script = {**SCRIPT, "steps": 2, "step_ms": 150}
    async with editor(NEOVIM, script, options={"budgetMs": 5000}) as made:
        await made.ready()
        uri = made.open("x = │\n")
        late = asyncio.ensure_future(made.candidates(uri))
        inline = made.request(uri)
        await asyncio.sleep(0.1)
        made.type(uri, "z")
        assert ((await late).candidates, (await late).reason) == ([], "superseded")
        assert await inline is None


async def test_what_was_typed_is_not_offered_again() -> None:
    async with editor(NEOVIM, SCRIPT, options={"budgetMs": 5000}) as made:
        await made.ready()
        uri = made.open("x = │\n")
        assert await made.ask(uri) == ["alpha(1)", "beta(2)"]
        made.type(uri, "a")
        made.type(uri, "l")
        assert await made.ask(uri) == ["pha(1)"]
        assert texts(await made.candidates(uri)) == ["pha(1)"]
        made.type(uri, "pha(1)")
        assert await made.ask(uri) == []
        assert made.texts[uri] == "x = alpha(1)│\n"


async def test_a_silence_while_loading_and_when_switched_off() -> None:
    async with editor(NEOVIM, {**SCRIPT, "load_ms": 700}, options={"budgetMs": 5000}) as made:
        uri = made.open("x = │\n")
        assert (await made.candidates(uri)).reason == "loading"
        assert (await made.status()).state == "loading"
        await made.ready()
        assert (await made.candidates(uri)).reason is None
        made.configure({"enable": False})
        await made.until(lambda: made.statuses[-1].state == "off")
        assert (await made.candidates(uri)).reason == "disabled"
        status = await made.status()
        assert (status.state, status.enabled, status.workerPid) == ("off", False, None)
