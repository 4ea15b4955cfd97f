"""What was dismissed or typed past does not come back unasked. │ is the cursor, numbers are characters erased."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from capabilities import VSCODE
from editor import INVOKED, Editor, editor
from lsprotocol import types

DISMISS = "DISMISS"
SCRIPT = {
    "rules": [
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]},
        {"before": "x = a", "candidates": ["lpha(1)"]},
        {"before": "x = al", "candidates": ["pha(1)"]},
        {"before": "x = b", "candidates": ["eta(2)"]},
        {"before": "x = z", "candidates": ["oom()"]},
        {"before": "y = ", "candidates": ["alpha(1)"]},
        {"before": "f(", "candidates": ["first, second"]},
        {"before": "'😀' + ", "candidates": ["'é'"]},
    ]
}
ALL, NONE = ["alpha(1)", "beta(2)"], []

pytestmark = pytest.mark.asyncio(loop_scope="module")


CASES = [
    # the document, what is done there, and what is shown then
    # Typed past: at the place, the rest may still be shown.
    ("x = │", ["z", 2, " "], ["beta(2)"]),
    ("x = │\n", ["z", 2, " "], ["beta(2)"]),
    ("a\r\n  x = │)\r\nb", ["z", 2, " "], ["beta(2)"]),
    ("x = │", ["foo()", 6, " "], ["beta(2)"]),
    ("x = │", ["a", "z", 3, " "], ["beta(2)"]),  # where it was shown first
    ("x = │", ["a", "z", 2, "a"], NONE),  # and where it went wrong
    ("x = │", ["z", 1, "a"], ["lpha(1)"]),  # typed after all
    ("f(│)", ["x", 2, "("], NONE),
    ("s = '😀' + │", ["z", 2, " "], NONE),
    ("x = │", ["z", 1, "\nx = "], ALL),  # another place
    ("x = │", ["z", 5, "y = "], ["alpha(1)"]),
    # Typed along, taken back or accepted: not typed past.
    ("x = │", ["a", 2, " "], ALL),
    ("x = │", [1, " "], ALL),
    # Dismissed: nothing is shown at the place, nor while the text is typed.
    ("x = │", [DISMISS], NONE),
    ("x = │", [DISMISS, 1, " "], NONE),
    ("x = │", [DISMISS, "a"], NONE),
    ("x = │", [DISMISS, "a", "l"], NONE),
    ("x = │", ["a", DISMISS], NONE),
    ("x = │", ["a", DISMISS, "l"], NONE),
    ("x = │", [DISMISS, "b"], NONE),
    ("x = │", [DISMISS, "z"], ["oom()"]),
    ("x = │", [DISMISS, 4, "y = "], ["alpha(1)"]),
    ("x = │", [DISMISS, "\nx = "], ALL),
    ("x = │)\n", [DISMISS, 1, " "], NONE),
    ("s = '😀' + │", [DISMISS, 1, " "], NONE),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def window() -> AsyncIterator[Editor]:
    async with editor(VSCODE, SCRIPT, options={"budgetMs": 5000, "showThreshold": 0}) as made:
        await made.ready()
        yield made


async def do(window: Editor, uri: str, steps: list[str | int]) -> None:
    """Make edits as an editor does, which asks after each of them."""
    for step in steps:
        if step == DISMISS:
            await dismiss(window, uri)
        elif isinstance(step, int):
            window.type(uri, "", step)
        else:
            window.type(uri, step)
        await window.ask(uri)


async def dismiss(window: Editor, uri: str) -> None:
    argument = {"uri": uri, "version": 0, "index": 0}
    await window.client.workspace_execute_command_async(types.ExecuteCommandParams("infill.dismissed", [argument]))


@pytest.mark.parametrize(("marked", "steps", "shown"), CASES, ids=str)
async def test_what_is_shown(window: Editor, marked: str, steps: list[str | int], shown: list[str]) -> None:
    uri = window.open(marked)
    assert await window.ask(uri)
    await do(window, uri, steps)
    assert await window.ask(uri) == shown
    if not shown:
        assert (await window.status()).reason == "dismissed"
        assert await window.ask(uri, kind=INVOKED)  # whoever asks is answered
    window.close_all()


async def test_what_was_accepted_and_erased_does_not_come_back(window: Editor) -> None:
    uri = window.open("x = │")
    assert await window.ask(uri) == ALL
    await do(window, uri, ["alpha(1)", 9, " "])
    assert await window.ask(uri) == []
    assert (await window.status()).reason == "deletion"
    assert await window.ask(uri, kind=INVOKED) == ALL
    window.close_all()


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("x = │\nb", ALL),
        ("a\nx = │\n", ALL),
        ("x = │)", ALL),
        ("x = │", NONE),
        ("c\n\nx = │", NONE),
        ("\nx = │\n", NONE),
    ],
)
async def test_it_comes_back_only_where_something_else_surrounds_the_place(
    window: Editor, text: str, again: list[str]
) -> None:
    uri = window.open("x = │")
    await window.ask(uri)
    await dismiss(window, uri)
    document = types.VersionedTextDocumentIdentifier(version=9, uri=uri)
    whole = types.TextDocumentContentChangeWholeDocument(text.replace("│", ""))
    window.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))
    window.texts[uri] = text
    window.type(uri, "", 1)
    window.type(uri, " ")
    assert await window.ask(uri) == again
    window.close_all()


async def test_it_is_forgotten_with_the_document_and_counted() -> None:
    async with editor(VSCODE, SCRIPT, options={"budgetMs": 5000, "showThreshold": 0}) as window:
        await window.ready()
        uri = window.open("x = │")
        assert await window.ask(uri) == ALL
        await dismiss(window, uri)
        await dismiss(window, uri)
        await dismiss(window, "file:///no/such.py")
        assert await window.ask(uri) == NONE
        window.close(uri)
        uri = window.open("x = │")
        assert await window.ask(uri) == ALL
        counts = await window.leave()
        assert {name: counts[name] for name in ("shown", "dismissed", "rejected", "silence.dismissed")} == {
            "shown": 2,
            "dismissed": 1,
            "rejected": 1,
            "silence.dismissed": 1,
        }
